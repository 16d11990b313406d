//! Datasets of the Hugging Face hub.
//!
//! First resolves a branch or tag to a commit (`/api/datasets/NAME/revision/REVISION`) and then lists and reads from
//! that commit, so that nothing changes meanwhile. Listings have pages
//! (`/api/datasets/NAME/tree/COMMIT/FOLDER?recursive=true`, with a `Link` header to the next); files come from
//! `/datasets/NAME/resolve/COMMIT/PATH`, which may redirect to another host, without the token. The layout is that of
//! the `huggingface_hub` client, as is the meaning of `HF_TOKEN` and `HF_ENDPOINT`.

use std::io;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::parse::invalid;
use crate::web::{Version, Web};

/// Characters that are not encoded in the path of an address.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// As [`PATH`], for a single segment such as a revision.
const SEGMENT: &AsciiSet = &PATH.add(b'/');

/// The hub's endpoint and token.
#[derive(Clone)]
pub(crate) struct Hub {
    pub(crate) endpoint: String,
    pub(crate) token: Option<String>,
}

impl Hub {
    pub(crate) fn of_environment() -> Self {
        let endpoint = std::env::var("HF_ENDPOINT").unwrap_or("https://huggingface.co".to_owned());
        Self { endpoint, token: token() }
    }
}

/// A dataset at a commit.
pub(crate) struct Dataset {
    pub(crate) web: Web,
    endpoint: Url,
    name: String,
    commit: String,
    /// The start of its addresses: `hf://datasets/o/n@revision/`.
    pub(crate) root: String,
}

pub(crate) struct Listed {
    pub(crate) path: String,
    pub(crate) version: Version,
}

#[derive(Deserialize)]
struct Revision {
    sha: String,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
}

impl Dataset {
    pub(crate) fn open(hub: &Hub, name: &str, revision: Option<&str>) -> io::Result<Self> {
        let endpoint = Url::parse(&hub.endpoint)
            .map_err(|_| invalid("HF_ENDPOINT is not a valid address".to_owned()))?;
        let web = Web::new(&endpoint, hub.token.as_deref())?;
        let root = match revision {
            Some(revision) => format!("hf://datasets/{name}@{}/", revision.replace('/', "%2F")),
            None => format!("hf://datasets/{name}/"),
        };
        let mut dataset =
            Self { web, endpoint, name: name.to_owned(), commit: String::new(), root };
        let revision = utf8_percent_encode(revision.unwrap_or("main"), SEGMENT);
        let asked = dataset.url(&format!("api/datasets/{name}/revision/{revision}"));
        let found: Revision = json(&dataset.web.read(&asked)?.body)?;
        if found.sha.is_empty() || !found.sha.chars().all(|it| it.is_ascii_hexdigit()) {
            return Err(unexpected("a commit", &found.sha));
        }
        dataset.commit = found.sha;
        Ok(dataset)
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.endpoint.as_str().trim_end_matches('/'))
    }

    /// The URL of a file.
    pub(crate) fn file(&self, path: &str) -> String {
        let path = utf8_percent_encode(path, PATH);
        self.url(&format!("datasets/{}/resolve/{}/{path}", self.name, self.commit))
    }

    /// Uses the commit as version, because redirects report the version of another host.
    pub(crate) fn stat(&self, path: &str) -> io::Result<Version> {
        let found = self.web.stat(&self.file(path))?;
        Ok(self.pinned(found.size))
    }

    fn pinned(&self, size: u64) -> Version {
        Version { size, etag: None, modified: None }
    }

    /// The version of every file.
    pub(crate) fn commit(&self) -> &str {
        &self.commit
    }

    /// All files below a folder, in no particular order.
    pub(crate) fn list(&self, folder: &str) -> io::Result<Vec<Listed>> {
        let folder = folder.trim_end_matches('/');
        let below = utf8_percent_encode(folder, PATH);
        let slash = if folder.is_empty() { "" } else { "/" };
        let tree = format!("api/datasets/{}/tree/{}{slash}{below}", self.name, self.commit);
        let mut next = Some(self.url(&format!("{tree}?recursive=true")));
        let mut files = Vec::new();
        while let Some(page) = next.take() {
            let answer = self.web.read(&page)?;
            for entry in json::<Vec<Entry>>(&answer.body)? {
                let inside = folder.is_empty()
                    || entry.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
                let plain = !entry.path.split('/').any(|part| matches!(part, "" | "." | ".."));
                if !inside || !plain {
                    return Err(unexpected("a path inside the dataset", &entry.path));
                }
                if entry.kind == "file" {
                    files.push(Listed { version: self.pinned(entry.size), path: entry.path });
                }
            }
            let link = answer.headers.get("link").and_then(|link| link.to_str().ok());
            next = link.and_then(next_page).map(|link| self.same_host(&link)).transpose()?;
        }
        Ok(files)
    }

    /// Checks the host, because the token must not be sent to another one.
    fn same_host(&self, link: &str) -> io::Result<String> {
        let there = self.endpoint.join(link).ok();
        let there = there.filter(|it| it.origin() == self.endpoint.origin());
        there.map(String::from).ok_or_else(|| unexpected("a link to the same host", link))
    }
}

/// The token of the environment, or the one that `hf auth login` stored.
fn token() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let saved = || {
        let home = set("HF_HOME")
            .map(std::path::PathBuf::from)
            .or_else(|| Some(std::path::PathBuf::from(set("HOME")?).join(".cache/huggingface")))?;
        std::fs::read_to_string(home.join("token")).ok()
    };
    let token = set("HF_TOKEN").or_else(saved)?.trim().to_owned();
    (!token.is_empty()).then_some(token)
}

/// Parses `<https://…>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    link.split(',').find_map(|one| {
        let (address, rest) = one.trim().strip_prefix('<')?.split_once('>')?;
        rest.contains("rel=\"next\"").then(|| address.to_owned())
    })
}

fn json<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    serde_json::from_slice(body)
        .map_err(|error| unexpected("the JSON of the hub", &error.to_string()))
}

fn unexpected(expected: &str, found: &str) -> io::Error {
    let what = format!(
        "the hub does not answer as expected: {expected} was asked for, and there is {found:?}"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}
