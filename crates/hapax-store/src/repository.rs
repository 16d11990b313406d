//! The repository: one folder, one writer at a time, any number of readers.
//!
//! Share it between threads by reference. The crate's header lists its guarantees. Writers wait for each other;
//! readers never wait, and read the state of some commit.

mod following;
mod recovery;
mod writing;

use crate::commit::Queue;
use crate::disk::{self, Disk, RealDisk, StoreFile, Watch};
use crate::error::{Fault, Outcome, StoreError, guarded};
use crate::index_file;
use crate::integrity;
use crate::lineage::Role;
use crate::merger::Merger;
use crate::opening;
use crate::page::{Nearest, Observation, PageInfo, good_redirect, good_url};
use crate::reader::Reader;
use crate::session::{Action, Answer, Decision, Effect, Op, Session, set_index};
use crate::settings::{Settings, good_market};
use crate::tables::{self, Counters};
use crate::view::{EventInfo, GroupInfo, OpenTables, Stats, View};
use hapax::fingerprint::{Key, RecipeId};
use hapax::group::Rules;
use hapax::group::live::{GroupId, PageId};
use hapax::index::live::LiveIndex;
use redb::{Database, ReadableDatabase};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where the index came from on opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexOrigin {
    /// The repository is new.
    New,
    /// The repository is new.
    File,
    /// The records, because the file could not be used.
    Rebuilt {
        /// Why, with the file's name.
        why: String,
    },
}

/// Returns the current time in seconds since 1970.
type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

type Job = Vec<Op>;
type JobResult = Result<Vec<Answer>, StoreError>;

pub struct Repository {
    // The view refers to the database, so it must be dropped first.
    view: Mutex<Arc<View>>,
    writer: Mutex<Writer>,
    queue: Queue<Vec<Job>, Vec<JobResult>>,
    index: Arc<LiveIndex>,
    merger: Merger,
    folder: PathBuf,
    file: PathBuf,
    disk: Arc<dyn Disk>,
    watch: Arc<Watch>,
    backend: Mutex<StoreFile>,
    cache_bytes: usize,
    /// Whether the disk refused the last write.
    refused: AtomicBool,
    /// A [`Role`].
    role: AtomicU8,
    clock: Clock,
    origin: IndexOrigin,
    key: Key,
}

/// The state of the writer.
struct Writer {
    /// `None` after a disk failure, until the file can be opened again.
    db: Option<opening::OpenFile>,
    settings: Settings,
    counters: Counters,
    /// Whether the disk failed: then the file must be opened again, and the index file would be
    /// wrong.
    failed: bool,
    /// When reopening was last tried.
    tried: Option<Instant>,
    /// Whether there is a change log.
    logging: bool,
    /// Whether the file records that a standby follows.
    followed: bool,
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Repository {
    /// Creates a repository in a folder, which is created if necessary.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`], or a disk error.
    pub fn create(folder: &Path, settings: Settings) -> Result<Self, StoreError> {
        Self::create_on(folder, settings, Arc::new(RealDisk))
    }

    /// As [`create`](Self::create), on a disk of the caller.
    pub fn create_on(
        folder: &Path,
        settings: Settings,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, StoreError> {
        let file = folder.join(tables::FILE);
        if file.exists() {
            return Err(StoreError::Exists { folder: folder.to_owned() });
        }
        let new = folder.join(format!("{}.new", tables::FILE));
        opening::make(&new, &disk, |db| opening::make_tables(db, &settings))?;
        let renamed = disk::rename(&*disk, &new, &file);
        renamed.map_err(|source| StoreError::Disk { file: file.clone(), source })?;
        let mut made = Self::open_on(folder, Some(&settings.recipe), disk)?;
        made.origin = IndexOrigin::New;
        Ok(made)
    }

    /// Opens a repository. If a recipe is given, refuses a repository with another one.
    ///
    /// # Errors
    ///
    /// Missing, in use, foreign, newer, of another recipe, or damaged.
    pub fn open(folder: &Path, recipe: Option<&RecipeId>) -> Result<Self, StoreError> {
        Self::open_on(folder, recipe, Arc::new(RealDisk))
    }

    /// As [`open`](Self::open), with this maximum size of the file cache in bytes instead of
    /// [`CACHE_BYTES`](crate::CACHE_BYTES). The index takes additional memory.
    pub fn open_cached(
        folder: &Path,
        recipe: Option<&RecipeId>,
        cache_bytes: usize,
    ) -> Result<Self, StoreError> {
        Self::open_sized(folder, recipe, Arc::new(RealDisk), cache_bytes)
    }

    /// As [`open`](Self::open), on a disk of the caller.
    pub fn open_on(
        folder: &Path,
        recipe: Option<&RecipeId>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, StoreError> {
        Self::open_sized(folder, recipe, disk, opening::CACHE_BYTES)
    }

    fn open_sized(
        folder: &Path,
        recipe: Option<&RecipeId>,
        disk: Arc<dyn Disk>,
        cache_bytes: usize,
    ) -> Result<Self, StoreError> {
        let file = folder.join(tables::FILE);
        let watch = Arc::<Watch>::default();
        let db = opening::open_file(&file, &disk, watch.clone(), cache_bytes)?;
        let settings = opening::read_settings(&db, &file)?;
        let (merge_twins, choose_again) = opening::left_of_upgrade(&db, &file)?;
        let counters = opening::read_counters(&db, &file)?;
        let key = opening::read_key(&db, &file)?;
        let (role, logging) = opening::read_role(&db, &file)?;
        if let Some(ours) = recipe
            && *ours != settings.recipe
        {
            let (ours, theirs) = (ours.clone(), settings.recipe);
            return Err(StoreError::OtherRecipe { folder: folder.to_owned(), ours, theirs });
        }
        let loaded = index_file::load(&*disk, folder, &settings, &counters);
        let (index, origin) = match loaded {
            Ok(index) => (index, IndexOrigin::File),
            Err(why) => {
                let index = guarded(|| opening::rebuild(&db, &settings));
                (index.map_err(|fault| fault.at(&file))?, IndexOrigin::Rebuilt { why })
            }
        };
        let index = Arc::new(index);
        let view = take_view(&db, &index, &settings, counters).map_err(|fault| fault.at(&file))?;
        let backend = Mutex::new(db.backend().clone());
        let opened = Self {
            view: Mutex::new(Arc::new(view)),
            writer: Mutex::new(Writer {
                db: Some(db),
                settings,
                counters,
                failed: false,
                tried: None,
                logging,
                followed: false,
            }),
            queue: Queue::new(),
            merger: Merger::start(index.clone()),
            index,
            folder: folder.to_owned(),
            file,
            disk,
            watch,
            backend,
            cache_bytes,
            refused: AtomicBool::new(false),
            role: AtomicU8::new(role as u8),
            clock: Arc::new(|| {
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
            }),
            origin,
            key,
        };
        if merge_twins && role == Role::Primary {
            opened.regroup(Vec::new(), opened.query(integrity::twins)?)?;
        }
        if choose_again && role == Role::Primary {
            opened.set_rules(opened.settings().rules)?;
        }
        Ok(opened)
    }

    /// Uses this clock (seconds since 1970) instead of the system's for the times of events and of
    /// pages without a time.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The key for sketches that confirm matches; use it with
    /// [`Fingerprinter::with_key`](hapax::fingerprint::Fingerprinter::with_key). It is created at
    /// random with the repository; keep it inside the process that has the repository open.
    pub const fn key(&self) -> &Key {
        &self.key
    }

    pub const fn index_origin(&self) -> &IndexOrigin {
        &self.origin
    }

    /// The settings, with the current rules.
    pub fn settings(&self) -> Settings {
        self.view().settings.clone()
    }

    /// The decision that an observation of this page would get, as of the last commit. Changes
    /// nothing.
    pub fn check(&self, page: &Observation) -> Result<Decision, StoreError> {
        Ok(self.check_named(page, 0)?.0)
    }

    /// As [`check`](Self::check), with the addresses of the nearest `named` matches.
    pub fn check_named(
        &self,
        page: &Observation,
        named: usize,
    ) -> Result<(Decision, Vec<String>), StoreError> {
        let at = (self.clock)();
        self.query(|view| view.check(page, named, at))
    }

    /// The known page most similar to this one (other than itself), whether it matches or not;
    /// `None` if no similar page is known. Searches beyond the bound by comparing with every
    /// fingerprint.
    pub fn nearest(&self, page: &Observation) -> Result<Option<Nearest>, StoreError> {
        self.query(|view| view.nearest(page))
    }

    pub fn page(&self, url: &str) -> Result<Option<PageInfo>, StoreError> {
        self.query(|view| view.page(url))
    }

    pub fn group(&self, url: &str) -> Result<Option<GroupInfo>, StoreError> {
        self.query(|view| view.group(url))
    }

    /// The first `limit` events after a sequence number, oldest first.
    pub fn events(&self, after: u64, limit: usize) -> Result<Vec<EventInfo>, StoreError> {
        self.query(|view| view.events(after, limit))
    }

    /// The current time of its clock.
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// A reader of the last commit, for several consistent queries.
    pub fn reader(&self) -> Reader {
        self.reopen_if_failed();
        Reader::new(self.view(), self.file.clone(), self.watch.clone())
    }

    /// For repair and upgrades: groups elect winners again, and pages find their groups by content.
    pub(crate) fn regroup(
        &self,
        groups: Vec<GroupId>,
        pages: Vec<PageId>,
    ) -> Result<(), StoreError> {
        self.count(Op::Regroup { groups, pages }).map(drop)
    }

    /// The disk of the store's file.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub fn stats(&self) -> Result<Stats, StoreError> {
        let stats = self.query(View::stats)?;
        let disk = |source| StoreError::Disk { file: self.file.clone(), source };
        let file_bytes = fs::metadata(&self.file).map_err(disk)?.len();
        let index_bytes = self.index.memory_bytes() as u64;
        let syncs = self.watch.syncs.load(Ordering::Relaxed);
        // Segments are merged in the background, also between commits.
        let segments = self.index.snapshot().segments().len() as u64;
        Ok(Stats { file_bytes, index_bytes, syncs, segments, ..stats })
    }

    /// Memory of the file cache (as of the last commit while one is being made) and of the block
    /// checksums, in bytes.
    pub fn cached_bytes(&self) -> u64 {
        if let Ok(writer) = self.writer.try_lock()
            && let Some(db) = &writer.db
        {
            self.record_cached(db);
        }
        self.watch.cached.load(Ordering::Relaxed)
    }

    fn record_cached(&self, db: &opening::OpenFile) {
        let bytes = db.cache_stats().used_bytes() + db.backend().memory_bytes();
        self.watch.cached.store(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn query<T>(
        &self,
        question: impl FnOnce(&View) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.reopen_if_failed();
        guarded(|| question(&self.view())).map_err(|fault| self.refusal(fault))
    }

    pub(crate) fn refusal(&self, fault: Fault) -> StoreError {
        self.watch.refusal(fault, &self.file)
    }
}

impl Drop for Repository {
    /// Saves the index. If this fails, it is rebuilt on the next opening.
    fn drop(&mut self) {
        self.merger.stop();
        let writer = self.writer();
        if !writer.failed {
            let Writer { settings, counters, .. } = &*writer;
            let _ = index_file::save(
                &*self.disk,
                &self.folder,
                &self.index,
                &settings.recipe,
                counters,
            );
        }
    }
}

fn take_view(
    db: &Database,
    index: &LiveIndex,
    settings: &Settings,
    counters: Counters,
) -> Outcome<View> {
    let (transaction, tables) = guarded(|| {
        let transaction = db.begin_read()?;
        let tables = OpenTables::of(&transaction)?;
        Ok((transaction, tables))
    })?;
    Ok(View { transaction, tables, index: index.snapshot(), settings: settings.clone(), counters })
}
