//! The parts of an address: store, bucket or dataset, and name.
//!
//! Names of objects are not decoded; they are encoded when they are sent.

use std::io;

use url::Url;

use crate::shown;

/// The API of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cloud {
    S3,
    Google,
    Azure,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Cloud { cloud: Cloud, scheme: String, bucket: String, key: String },
    Hub { dataset: String, revision: Option<String>, path: String },
    Web(Url),
}

impl Address {
    pub(crate) fn parse(text: &str) -> io::Result<Self> {
        let wrong = |what: &str| invalid(format!("{} {what}", shown(text)));
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(wrong("is not an address: expected scheme://…"));
        };
        let cloud = match scheme {
            "s3" | "s3a" => Cloud::S3,
            "gs" => Cloud::Google,
            "az" => Cloud::Azure,
            "hf" => {
                return Self::hub(rest).ok_or_else(|| {
                    wrong("is not a dataset: expected hf://datasets/OWNER/NAME[@REVISION]/path")
                });
            }
            "http" | "https" => {
                let url = Url::parse(text).map_err(|_| wrong("is not a valid address"))?;
                return Ok(Self::Web(url));
            }
            _ => return Err(wrong("has a scheme that cannot be read")),
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains('@') {
            return Err(wrong("has credentials in it; give them in the environment"));
        }
        if bucket.is_empty() || bucket.contains(['*', '?', '[']) {
            return Err(wrong("names no bucket: expected scheme://BUCKET/key"));
        }
        let (scheme, bucket, key) = (scheme.to_owned(), bucket.to_owned(), key.to_owned());
        Ok(Self::Cloud { cloud, scheme, bucket, key })
    }

    fn hub(rest: &str) -> Option<Self> {
        let mut parts = rest.strip_prefix("datasets/")?.splitn(3, '/');
        let (owner, name) = (parts.next()?, parts.next()?);
        let path = parts.next().unwrap_or_default().to_owned();
        let (name, revision) = match name.split_once('@') {
            // The hub's own clients encode the slash of a branch.
            Some((name, revision)) => (name, Some(revision.replace("%2F", "/"))),
            None => (name, None),
        };
        let plain = |text: &str| {
            let allowed = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
            !text.is_empty() && !text.starts_with('.') && text.chars().all(allowed)
        };
        let dataset = (plain(owner) && plain(name)).then(|| format!("{owner}/{name}"))?;
        Some(Self::Hub { dataset, revision, path })
    }
}

/// Length of the fixed part of a pattern, up to and including a slash; `None` without wildcards.
pub(crate) fn fixed_part(key: &str) -> Option<&str> {
    let wildcard = key.find(['*', '?', '['])?;
    Some(&key[..key[..wildcard].rfind('/').map_or(0, |slash| slash + 1)])
}

pub(crate) fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_an_address_are_refused_and_not_repeated() {
        let error = Address::parse("s3://key:secret@bucket/x").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_dataset_has_an_owner_a_name_and_perhaps_a_revision() {
        let Address::Hub { dataset, revision, path } =
            Address::parse("hf://datasets/o/n@refs%2Fconvert%2Fparquet/d/*.parquet").unwrap()
        else {
            panic!("not the hub");
        };
        assert_eq!((&*dataset, revision.as_deref()), ("o/n", Some("refs/convert/parquet")));
        assert_eq!(path, "d/*.parquet");
        for wrong in
            ["hf://o/n/x", "hf://datasets/o", "hf://datasets/../n/x", "hf://datasets/o/n?x/y"]
        {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_fixed_part_of_a_pattern_ends_behind_a_slash() {
        assert_eq!(fixed_part("a/b/c-*.gz"), Some("a/b/"));
        assert_eq!(fixed_part("*"), Some(""));
        assert_eq!(fixed_part("a/b.gz"), None);
    }
}
