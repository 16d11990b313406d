//! The shared state of all requests, and the boundary between asynchronous and blocking code.
//!
//! Requests wait asynchronously; fingerprinting, searching and reading the store are ordinary calls.
//! [`Service::work`] runs a call on a blocking thread, at most as many at once as there are cores, and fewer
//! for large pages (`large`); clients take turns (`turns`); a call whose client has disconnected still counts
//! until it ends. Calls that take a few microseconds and never wait, such as looking up a ready fingerprint,
//! run in place, because changing threads would take longer.

use crate::access::{Access, Rate, Shares};
use crate::bodies::Budget;
use crate::config::Config;
use crate::connections::Connections;
use crate::error::{ApiError, Code};
use crate::fetch::Fetcher;
use crate::history::History;
use crate::large::{LARGE, Large};
use crate::metrics::{Copies, Metrics};
use crate::routes::search::Searched;
use crate::standby::{Following, Source, Standbys};
use crate::turns::Turns;
use crate::writer::Writer;
use hapax::fingerprint::{Fingerprinter, Recipe, RecipeId};
use hapax_client::wire::{MATCHES, Verdict};
use hapax_store::{
    Decision, GroupSizes, Market, Observation, Reader, Repository, Role, StoreError, Texts,
};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::sync::{Semaphore, watch};

/// The list of the largest groups is recomputed when its age is this many times the duration of
/// computing it, which reads a row of every group; this bounds the share of time spent on it.
const SIZES_AGE: u32 = 20;
/// How long the repository's file is verified before the service starts; the rest follows while it
/// runs.
const VERIFY_AT_START: Duration = Duration::from_secs(5);
/// Requests per core that are started before the runtime looks for others: few, so that the others
/// wait in turn; more than one, so that it looks less often.
const BEGINNINGS: usize = 4;
/// Bytes of a row of a list whose addresses are long.
const ROW: usize = 2 << 10;
/// Maximum number of concurrent fetches.
const FETCHES: usize = 16;
/// Maximum number of concurrent increments.
const INCREMENTS: usize = 8;
/// Number of the largest groups kept ready.
pub const LARGEST: usize = 200;

pub struct Service {
    /// Pages, groups, index.
    pub repository: Arc<Repository>,
    pub config: Config,
    /// The recipe of the repository.
    pub recipe: Recipe,
    /// The recipe's name and digest.
    pub recipe_id: RecipeId,
    pub writer: Writer,
    /// The stored texts; `None` if they are disabled.
    pub texts: Option<Texts>,
    /// `None` if fetching is disabled.
    pub fetcher: Option<Fetcher>,
    /// `None` if no search index is configured.
    pub search: Option<Searched>,
    pub metrics: Metrics,
    /// Counters over time.
    pub history: History,
    pub access: Access,
    pub rate: Rate,
    /// Limits the concurrent requests of each client.
    pub shares: Arc<Shares>,
    /// Limits the bytes that each client has not read yet.
    pub(crate) unread: Arc<Shares>,
    pub in_flight: Arc<Semaphore>,
    /// Counts commits.
    pub changed: watch::Sender<u64>,
    pub started: Instant,
    stopping: watch::Sender<bool>,
    /// Limits the bytes of bodies and of unread answers.
    pub(crate) bodies: Arc<Budget>,
    pub(crate) connections: Connections,
    /// Limits full copies of the repository to one at a time.
    pub(crate) backups: Arc<Semaphore>,
    /// Limits concurrent increments.
    pub(crate) increments: Arc<Semaphore>,
    /// What this service follows, if it is or was a standby.
    pub following: Option<Following>,
    pub standbys: Standbys,
    /// Limits concurrent fetches; clients take turns.
    pub(crate) fetches: Arc<Turns>,
    working: Arc<Turns>,
    /// For starting requests that read, separate from those that write.
    pub(crate) reads: Arc<Turns>,
    pub(crate) writes: Arc<Turns>,
    large: Large,
    spare: Mutex<Vec<Fingerprinter>>,
    first: Fingerprinter,
    sizes: Mutex<Option<Sizes>>,
    market: Mutex<Option<(u64, Arc<Market>)>>,
}

struct Sizes {
    made: Instant,
    took: Duration,
    sizes: Arc<GroupSizes>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("repository", &self.repository).finish_non_exhaustive()
    }
}

/// The service cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The fingerprinter does not fit the repository.
    #[error(transparent)]
    Recipe(#[from] hapax::fingerprint::RecipeMismatch),
    /// The repository is damaged or unreadable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file of texts cannot be opened.
    #[error("the texts cannot be kept ({0}); set texts.max_bytes = 0 to do without")]
    Texts(#[source] Box<redb::Error>),
    /// The search index or its policy is unusable.
    #[error("nothing can be searched: {0}")]
    Search(String),
    /// A token is unusable.
    #[error(transparent)]
    Tokens(#[from] crate::ConfigError),
    /// A range of addresses is malformed.
    #[error(transparent)]
    Ranges(#[from] crate::fetch::RangeError),
    /// A system error.
    #[error("{what}: {source}")]
    System { what: String, source: std::io::Error },
}

/// Resident memory of the process in bytes, where the system reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

impl Service {
    /// Over a repository, with the fingerprinter of its recipe.
    pub fn new(
        repository: Repository,
        fingerprinter: Fingerprinter,
        config: Config,
    ) -> Result<Arc<Self>, StartError> {
        Self::following(repository, fingerprinter, config, None)
    }

    /// As [`new`](Self::new), as a standby of a source.
    pub fn following(
        repository: Repository,
        fingerprinter: Fingerprinter,
        config: Config,
        source: Option<Source>,
    ) -> Result<Arc<Self>, StartError> {
        let recipe_id = fingerprinter.recipe_id().clone();
        if let Some(memory) = config.memory
            && repository.stats()?.index_bytes > memory / 4
        {
            tracing::warn!("the index takes more than a quarter of `memory`: set it to more");
        }
        repository.settings().recipe.must_be(&recipe_id)?;
        repository.scrub(0, VERIFY_AT_START)?;
        let texts = match config.texts.max_bytes {
            0 => None,
            most => {
                let opened = Texts::open(repository.folder(), most);
                Some(opened.map_err(|error| StartError::Texts(Box::new(error)))?)
            }
        };
        let fetcher = match config.fetch.enabled {
            true => Some(Fetcher::new(&config.fetch)?),
            false => None,
        };
        let search = Searched::open(&config.search)?;
        let repository = Arc::new(repository);
        let changed = watch::Sender::new(0);
        let system = |source| StartError::System { what: "cannot start a thread".into(), source };
        let writer = Writer::start(repository.clone(), changed.clone()).map_err(system)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Arc::new(Self {
            recipe: fingerprinter.recipe().clone(),
            recipe_id,
            writer,
            texts,
            fetcher,
            search,
            metrics: Metrics::default(),
            history: History::default(),
            access: Access::new(&config.tokens, &config.hosts)?,
            rate: Rate::new(config.limits.rate, config.limits.burst),
            shares: Shares::new(config.limits.requests, config.limits.client_share),
            unread: Shares::new(config.limits.held_bytes, config.limits.client_share),
            in_flight: Arc::new(Semaphore::new(config.limits.requests)),
            changed,
            started: Instant::now(),
            stopping: watch::Sender::new(false),
            bodies: Budget::new(config.limits.held_bytes),
            connections: Connections::default(),
            backups: Arc::new(Semaphore::new(1)),
            increments: Arc::new(Semaphore::new(INCREMENTS)),
            following: source.map(Following::new),
            standbys: Standbys::default(),
            fetches: Turns::new(FETCHES),
            working: Turns::new(cores.max(2)),
            reads: Turns::new(cores * BEGINNINGS),
            writes: Turns::new(cores * BEGINNINGS),
            large: Large::new(cores.max(2) - 1, config.limits.body_bytes),
            spare: Mutex::default(),
            first: fingerprinter.with_key(repository.key()),
            sizes: Mutex::default(),
            market: Mutex::default(),
            repository,
            config,
        }))
    }

    /// Runs a call that takes long or may wait for the disk.
    ///
    /// # Errors
    ///
    /// The error of the call, or it panicked.
    pub async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        call: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = self.working.take().await;
        let service = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            // Held by the call, not by its waiter: a client that disconnects and asks again must
            // not start a second call.
            let _held = turn;
            call(&service)
        });
        done.await.map_err(|panic| ApiError::internal(format!("a call did not finish: {panic}")))?
    }

    /// As [`work`](Self::work), for pages of which the largest has this size.
    ///
    /// # Errors
    ///
    /// The error of the call, or it panicked.
    pub async fn work_on<T: Send + 'static>(
        self: &Arc<Self>,
        bytes: usize,
        call: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let large = self.large.take(bytes).await;
        self.work(move |service| {
            let _held = large;
            call(service)
        })
        .await
    }

    /// As [`work`](Self::work), for a list of at most this many rows. Long lists take milliseconds: they wait in
    /// a queue of their own, so that short requests do not wait behind them.
    ///
    /// # Errors
    ///
    /// The error of the call, the service stops, or the call panicked.
    pub async fn list<T: Send + 'static>(
        self: &Arc<Self>,
        rows: usize,
        call: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let bytes = rows.saturating_mul(ROW);
        if bytes <= LARGE {
            return self.work(call).await;
        }
        let large = self.large.take(bytes).await;
        if self.is_stopping() {
            return Err(ApiError::new(Code::Stopping, "the service is stopping"));
        }
        self.work(move |service| {
            let _held = large;
            call(service)
        })
        .await
    }

    /// Lends a fingerprinter for pages of which the largest has this size. After a large one its
    /// buffers are freed.
    pub fn fingerprinting<T>(&self, bytes: usize, call: impl FnOnce(&mut Fingerprinter) -> T) -> T {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let lent = spare().pop();
        let mut fingerprinter = lent.unwrap_or_else(|| self.first.clone());
        let result = call(&mut fingerprinter);
        if bytes <= LARGE {
            spare().push(fingerprinter);
        }
        result
    }

    /// The verdict that this page would get.
    pub fn check(&self, page: &Observation) -> Result<Verdict, ApiError> {
        let (decision, names) = self.repository.check_named(page, MATCHES)?;
        self.metrics.checked(&decision);
        let names = names.into_iter().map(Some).collect();
        Ok(Verdict::new(page.url.clone(), &decision, names, false))
    }

    /// Adds the known page most similar to this one, unless the verdict has it. Compares with all
    /// pages, so call it on a worker thread.
    pub fn find_nearest(&self, page: &Observation, verdict: &mut Verdict) -> Result<(), ApiError> {
        Ok(verdict.find_nearest(&self.repository, page)?)
    }

    /// Formats and counts a decision.
    pub fn verdict(
        &self,
        url: String,
        decision: &Decision,
        recorded: bool,
    ) -> Result<Verdict, ApiError> {
        self.metrics.checked(decision);
        Ok(Verdict::of(&self.repository, url, decision, recorded)?)
    }

    /// The largest groups and the sizes of all, possibly slightly outdated in a large repository.
    pub fn group_sizes(&self) -> Result<Arc<GroupSizes>, StoreError> {
        let mut kept = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Sizes { made, took, sizes }) = &*kept
            && made.elapsed() < *took * SIZES_AGE
        {
            return Ok(sizes.clone());
        }
        // Others wait here instead of reading all groups, too.
        let start = Instant::now();
        let sizes = Arc::new(self.repository.group_sizes(LARGEST)?);
        *kept = Some(Sizes { made: Instant::now(), took: start.elapsed(), sizes: sizes.clone() });
        Ok(sizes)
    }

    /// A market's winners as of a reader's commit; caches the latest ones.
    ///
    /// # Errors
    ///
    /// There is no such market, or the repository is unreadable.
    pub fn market(
        &self,
        reader: &Reader,
        name: Option<&str>,
    ) -> Result<Option<Arc<Market>>, ApiError> {
        let Some(name) = name else { return Ok(None) };
        let mut kept = self.market.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((commit, market)) = &*kept
            && *commit == reader.commit()
            && market.name == name
        {
            return Ok(Some(market.clone()));
        }
        let market = reader.market(name).map_err(|error| match error {
            StoreError::NoMarket { known, .. } => {
                let message = format!("the repository has no market of this name; {known}");
                ApiError::new(Code::NotFound, message)
            }
            other => other.into(),
        })?;
        let market = Arc::new(market);
        *kept = Some((reader.commit(), market.clone()));
        Ok(Some(market))
    }

    /// Whether it takes writes, its standbys, and how far behind it is itself.
    pub fn copies(&self) -> Copies {
        Copies {
            takes_writes: self.repository.role() == Role::Primary,
            standbys: self.standbys.count(),
            behind: self.behind(),
        }
    }

    /// Memory by purpose in bytes: counted, and the total of the process according to the system.
    pub fn memory(&self, stats: &hapax_store::Stats) -> [(&'static str, u64); 6] {
        let limits = &self.config.limits;
        [
            ("index", stats.index_bytes),
            ("cache", self.repository.cached_bytes()),
            ("cache limit", limits.cache_bytes as u64),
            ("texts cache", self.texts.as_ref().map_or(0, Texts::cached_bytes)),
            ("bodies", (limits.held_bytes - self.bodies.left().min(limits.held_bytes)) as u64),
            ("resident", resident().unwrap_or(0)),
        ]
    }

    /// How far behind this standby is, `None` for a primary; until it has heard from its source, by
    /// the time in the last increment.
    pub fn behind(&self) -> Option<Duration> {
        if self.repository.role() != Role::Standby {
            return None;
        }
        let by_last_increment = || {
            let made = UNIX_EPOCH + Duration::from_secs(self.repository.as_of().ok()??);
            Some(made.elapsed().unwrap_or_default())
        };
        self.following.as_ref().and_then(Following::behind).or_else(by_last_increment)
    }

    /// A warning if other machines can reach this address and no tokens are configured.
    pub fn exposure(&self, address: SocketAddr) -> Option<String> {
        let reachable = !address.ip().is_loopback();
        (reachable && self.access.is_open()).then(|| {
            format!(
                "other machines can reach {address} and no tokens are configured: whoever reaches \
                 it reads everything (writes are taken from this machine only); set tokens.read \
                 and tokens.write, or listen on 127.0.0.1"
            )
        })
    }

    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Returns when the service is stopping.
    pub(crate) async fn stopped(&self) {
        // An error means that the service no longer exists.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// From now on it is not ready, and open event streams end.
    pub fn begin_stop(&self) {
        self.stopping.send_replace(true);
        self.changed.send_modify(|commits| *commits += 1);
    }

    /// Finishes everything accepted. Blocks.
    pub fn finish(&self) {
        if let Some(following) = &self.following {
            following.stop();
        }
        self.writer.stop();
        if let Some(texts) = &self.texts {
            texts.stop();
        }
    }

    /// Refuses fetching unless it is enabled.
    ///
    /// # Errors
    ///
    /// Fetching is disabled.
    pub fn fetcher(&self) -> Result<&Fetcher, ApiError> {
        let off = || ApiError::new(Code::Forbidden, "this service does not fetch addresses");
        self.fetcher.as_ref().ok_or_else(off)
    }
}
