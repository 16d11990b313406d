//! Finds the objects of an address, in the order of files in a folder.
//!
//! A web server has single files only. Listings are read to their last page.
//!
//! | address ends in | stands for |
//! |---|---|
//! | a name | that object, or everything below it if there is none |
//! | `/`, or the bucket alone | everything below it |
//! | a name with `*`, `?` or `[` | all objects that match; `*` stops at slashes, `**` does not |

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use glob::{MatchOptions, Pattern};
use object_store::ObjectMeta;

use crate::Found;
use crate::cloud::{self, Bucket};
use crate::hub::{Dataset, Hub};
use crate::object::{Object, Place};
use crate::parse::{Address, Cloud, fixed_part, invalid};
use crate::runtime::runtime;
use crate::shown;
use crate::web::Web;

/// As for local files, `*` does not match a slash.
const GLOB: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};
/// Concurrent requests for the objects of a list.
const AT_A_TIME: usize = 16;

/// Finds objects; opens each bucket and dataset once.
#[derive(Default)]
pub struct Finder {
    buckets: BTreeMap<(Cloud, String), Arc<Bucket>>,
    datasets: BTreeMap<String, Arc<Dataset>>,
    servers: BTreeMap<String, Arc<Web>>,
    hub: Option<Hub>,
    /// Objects of a list, requested ahead of time.
    known: BTreeMap<String, Object>,
}

enum Store {
    Bucket(Arc<Bucket>),
    Dataset(Arc<Dataset>),
}

impl Finder {
    /// Uses this hub instead of the one that the environment names.
    #[must_use]
    pub fn with_hub(self, endpoint: &str, token: Option<&str>) -> Self {
        let hub = Hub { endpoint: endpoint.to_owned(), token: token.map(str::to_owned) };
        Self { hub: Some(hub), ..self }
    }

    /// Looks up an address.
    ///
    /// # Errors
    ///
    /// The address is invalid, the store does not answer or denies access, or there is no such
    /// object.
    pub fn find(&mut self, address: &str) -> io::Result<Found> {
        if let Some(object) = self.known.remove(address) {
            return Ok(Found::One(object));
        }
        let (store, key) = match Address::parse(address)? {
            Address::Web(url) => {
                let web = self.server(&url)?;
                return web_file(&web, url, address).map(Found::One);
            }
            Address::Cloud { cloud, scheme, bucket, key } => {
                (Store::Bucket(self.bucket(cloud, &scheme, &bucket)?), key)
            }
            Address::Hub { dataset, revision, path } => {
                (Store::Dataset(self.dataset(&dataset, revision.as_deref())?), path)
            }
        };
        if let Some(fixed) = fixed_part(&key) {
            let pattern = Pattern::new(&key)
                .map_err(|error| invalid(format!("is not a valid pattern: {error}")))?;
            let mut found = store.list(fixed)?;
            found.retain(|(key, _)| pattern.matches_with(key, GLOB));
            return Ok(Found::Matching(found.into_iter().map(|(_, object)| object).collect()));
        }
        let folder = key.trim_end_matches('/');
        if !folder.is_empty() && folder.len() == key.len() {
            match store.stat(&key) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                found => return found.map(Found::One),
            }
        }
        let cut = if folder.is_empty() { 0 } else { folder.len() + 1 };
        // Consoles create an object with an empty name for the folder itself.
        let below = store.list(folder)?.into_iter().filter_map(|(key, object)| {
            let below = key.get(cut..).filter(|below| !below.is_empty())?;
            Some((object, below.to_owned()))
        });
        let below: Vec<_> = below.collect();
        if below.is_empty() {
            let what = "there is no such object, and none below it";
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        Ok(Found::Below(below))
    }

    /// Requests the objects of a list before [`find`](Self::find) is called, several at a time.
    /// Ignores failures, because `find` reports them.
    pub fn prepare<'a>(&mut self, addresses: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let mut wanted = Vec::new();
        for address in addresses.filter(|it| crate::is_address(it)) {
            let Ok(parsed) = Address::parse(address) else { continue };
            match parsed {
                Address::Cloud { cloud, scheme, bucket, key }
                    if fixed_part(&key).is_none() && !key.is_empty() && !key.ends_with('/') =>
                {
                    let store = Store::Bucket(self.bucket(cloud, &scheme, &bucket)?);
                    wanted.push((address, Wanted::Named(store, key)));
                }
                Address::Hub { dataset, revision, path }
                    if fixed_part(&path).is_none() && !path.is_empty() && !path.ends_with('/') =>
                {
                    let store = Store::Dataset(self.dataset(&dataset, revision.as_deref())?);
                    wanted.push((address, Wanted::Named(store, path)));
                }
                Address::Web(url) => wanted.push((address, Wanted::Web(self.server(&url)?, url))),
                _ => {}
            }
        }
        for some in wanted.chunks(AT_A_TIME) {
            let found: Vec<_> = std::thread::scope(|scope| {
                let asked = some.iter().map(|(address, wanted)| {
                    scope.spawn(move || match wanted {
                        Wanted::Named(store, key) => store.stat(key),
                        Wanted::Web(web, url) => web_file(web, url.clone(), address),
                    })
                });
                let asked: Vec<_> = asked.collect();
                asked.into_iter().map(|it| it.join().ok().and_then(Result::ok)).collect()
            });
            for ((address, _), object) in some.iter().zip(found) {
                self.known.extend(object.map(|object| ((*address).to_owned(), object)));
            }
        }
        Ok(())
    }

    fn bucket(&mut self, cloud: Cloud, scheme: &str, name: &str) -> io::Result<Arc<Bucket>> {
        let key = (cloud, format!("{scheme}://{name}"));
        if let Some(known) = self.buckets.get(&key) {
            return Ok(Arc::clone(known));
        }
        let bucket = Arc::new(Bucket::open(cloud, scheme, name)?);
        self.buckets.insert(key, Arc::clone(&bucket));
        Ok(bucket)
    }

    fn dataset(&mut self, name: &str, revision: Option<&str>) -> io::Result<Arc<Dataset>> {
        let key = format!("{name}@{}", revision.unwrap_or_default());
        if let Some(known) = self.datasets.get(&key) {
            return Ok(Arc::clone(known));
        }
        let hub = self.hub.get_or_insert_with(Hub::of_environment);
        let dataset = Arc::new(Dataset::open(hub, name, revision)?);
        self.datasets.insert(key, Arc::clone(&dataset));
        Ok(dataset)
    }

    fn server(&mut self, url: &url::Url) -> io::Result<Arc<Web>> {
        let key = url[..url::Position::BeforePath].to_owned();
        if let Some(known) = self.servers.get(&key) {
            return Ok(Arc::clone(known));
        }
        let web = Arc::new(Web::new(url, None)?);
        self.servers.insert(key, Arc::clone(&web));
        Ok(web)
    }
}

enum Wanted {
    Named(Store, String),
    Web(Arc<Web>, url::Url),
}

fn web_file(web: &Arc<Web>, mut url: url::Url, address: &str) -> io::Result<Object> {
    // The credentials are sent in a header.
    if url.set_username("").and_then(|()| url.set_password(None)).is_err() {
        return Err(invalid("names no host".to_owned()));
    }
    url.set_fragment(None);
    let version = web.stat(url.as_str())?;
    Ok(Object::new(Place::Web(Arc::clone(web), url.into(), version), shown(address).into_owned()))
}

impl Store {
    fn stat(&self, key: &str) -> io::Result<Object> {
        match self {
            Self::Bucket(bucket) => {
                let path = cloud::path(key)?;
                let found = runtime()?.block_on(bucket.stat(&path))?;
                Ok(of_bucket(bucket, found).1)
            }
            Self::Dataset(dataset) => {
                let version = dataset.stat(key)?;
                let place = Place::Hub(Arc::clone(dataset), key.to_owned(), version);
                Ok(Object::new(place, format!("{}{key}", dataset.root)))
            }
        }
    }

    /// All objects below a folder, sorted by key.
    fn list(&self, folder: &str) -> io::Result<Vec<(String, Object)>> {
        let mut found: Vec<(String, Object)> = match self {
            Self::Bucket(bucket) => {
                let path = cloud::path(folder)?;
                let found = runtime()?.block_on(bucket.list(&path))?;
                found.into_iter().map(|found| of_bucket(bucket, found)).collect()
            }
            Self::Dataset(dataset) => {
                let objects = dataset.list(folder)?.into_iter().map(|file| {
                    let name = format!("{}{}", dataset.root, file.path);
                    let place = Place::Hub(Arc::clone(dataset), file.path.clone(), file.version);
                    (file.path, Object::new(place, name))
                });
                objects.collect()
            }
        };
        found.sort_by(|(a, _), (b, _)| a.split('/').cmp(b.split('/')));
        Ok(found)
    }
}

fn of_bucket(bucket: &Arc<Bucket>, found: ObjectMeta) -> (String, Object) {
    let key = found.location.as_ref().to_owned();
    let name = format!("{}{key}", bucket.root);
    (key, Object::new(Place::Cloud(Arc::clone(bucket), found), name))
}
