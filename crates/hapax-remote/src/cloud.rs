//! A bucket of S3, Google Cloud Storage or Azure.
//!
//! Credentials, endpoint and region come from the environment variables of `object_store`, for S3 also from profile
//! files. Failed requests are retried with growing pauses, at most ten times and three minutes. Errors contain the
//! store's answer without headers, query or body, because those may repeat credentials.

use std::error::Error as _;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::http::Connector;
use crate::parse::{Cloud, invalid};
use crate::profile;

pub(crate) struct Bucket {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) uploads: Arc<dyn MultipartStore>,
    /// The start of its addresses: `s3://bucket/`.
    pub(crate) root: String,
    cloud: Cloud,
}

impl Bucket {
    pub(crate) fn open(cloud: Cloud, scheme: &str, bucket: &str) -> io::Result<Self> {
        let cannot = |error| of_store(error, cloud);
        let (store, uploads): (Arc<dyn ObjectStore>, Arc<dyn MultipartStore>) = match cloud {
            Cloud::S3 => {
                let builder = profile::apply(AmazonS3Builder::from_env())?;
                let builder = builder.with_bucket_name(bucket).with_http_connector(Connector);
                let store = Arc::new(builder.build().map_err(cannot)?);
                (store.clone(), store)
            }
            Cloud::Google => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                let builder = builder.with_http_connector(Connector);
                let store = Arc::new(builder.build().map_err(cannot)?);
                (store.clone(), store)
            }
            Cloud::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                let builder = builder.with_http_connector(Connector);
                let store = Arc::new(builder.build().map_err(cannot)?);
                (store.clone(), store)
            }
        };
        Ok(Self { store, uploads, root: format!("{scheme}://{bucket}/"), cloud })
    }

    pub(crate) async fn stat(&self, path: &Path) -> io::Result<ObjectMeta> {
        self.store.head(path).await.map_err(|error| self.failed(error))
    }

    /// All objects below a folder, in no particular order.
    pub(crate) async fn list(&self, folder: &Path) -> io::Result<Vec<ObjectMeta>> {
        let below = (!folder.as_ref().is_empty()).then_some(folder);
        let all = self.store.list(below).try_collect::<Vec<_>>().await;
        let mut all = all.map_err(|error| self.failed(error))?;
        for found in &mut all {
            found.e_tag = found.e_tag.take().map(quoted);
        }
        // An answer of the store must not contain keys outside of the folder.
        match all.iter().find(|it| !it.location.prefix_matches(folder)) {
            Some(other) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("the store lists {}, which is not below {folder}", other.location),
            )),
            None => Ok(all),
        }
    }

    pub(crate) async fn get(&self, found: &ObjectMeta, range: Range<u64>) -> io::Result<Bytes> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: found.e_tag.clone(),
            if_unmodified_since: found.e_tag.is_none().then_some(found.last_modified),
            ..GetOptions::default()
        };
        let answer = self.store.get_opts(&found.location, options).await;
        let answer = answer.map_err(|error| self.failed(error))?;
        if answer.meta.size != found.size
            || (found.e_tag.is_some() && answer.meta.e_tag != found.e_tag)
        {
            return Err(changed());
        }
        let bytes = answer.bytes().await.map_err(|error| self.failed(error))?;
        if bytes.len() as u64 != range.end - range.start {
            let what = format!("{} bytes instead of {range:?}", bytes.len());
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, what));
        }
        Ok(bytes)
    }

    pub(crate) fn failed(&self, error: object_store::Error) -> io::Error {
        of_store(error, self.cloud)
    }
}

/// Converts a key to the path type of `object_store`.
pub(crate) fn path(key: &str) -> io::Result<Path> {
    Path::parse(key).map_err(|_| {
        invalid(format!("{key}: names with empty segments, \".\" or \"..\" are not supported"))
    })
}

/// A version tag with quotes, which listings of Azure omit.
fn quoted(tag: String) -> String {
    if tag.contains('"') { tag } else { format!("\"{tag}\"") }
}

/// The error for an object that changed since it was found.
pub(crate) fn changed() -> io::Error {
    let what = "it has changed since it was found; start again when nobody writes to it";
    io::Error::new(io::ErrorKind::StaleNetworkFileHandle, what)
}

fn of_store(error: object_store::Error, cloud: Cloud) -> io::Error {
    use io::ErrorKind as Kind;
    use object_store::Error as Store;
    let (kind, what) = match &error {
        Store::NotFound { .. } => (Kind::NotFound, "there is no such object or bucket".to_owned()),
        Store::Precondition { .. } | Store::NotModified { .. } => return changed(),
        Store::AlreadyExists { .. } => (Kind::AlreadyExists, "it is there already".to_owned()),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            (Kind::PermissionDenied, format!("the store denies access; {}", credentials(cloud)))
        }
        _ => {
            let text = first_words(&error);
            let what = match text.contains("redirect") || text.contains("301 ") {
                true => format!("{text}; is AWS_REGION the bucket's region?"),
                false => text,
            };
            (Kind::ConnectionAborted, what)
        }
    };
    io::Error::new(kind, what)
}

/// The variables to set for credentials.
pub(crate) fn credentials(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::S3 => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or AWS_SKIP_SIGNATURE=true for a \
             public bucket"
        }
        Cloud::Google => {
            "set GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
        }
        Cloud::Azure => {
            "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true for a \
             public container"
        }
    }
}

/// The innermost cause, without the body of the answer.
fn first_words(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    let end = text.find(['<', '\n', '?']).unwrap_or(text.len());
    text[..end].trim_end_matches([':', ' ']).to_owned()
}
