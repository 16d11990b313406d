//! Parses addresses: names with a scheme.
//!
//! | address | means |
//! |---|---|
//! | `s3://bucket/key`, `s3a://` | Amazon S3 and compatible stores |
//! | `gs://bucket/key` | Google Cloud Storage |
//! | `az://container/key` | Azure Blob Storage |
//! | `hf://datasets/OWNER/NAME[@REVISION]/path` | a dataset of the Hugging Face hub |
//! | `https://host/path`, `http://` | one file of a web server |

use std::borrow::Cow;

const SCHEMES: [&str; 7] = ["s3", "s3a", "gs", "az", "hf", "http", "https"];

/// Whether the text is an address and not a local path.
pub fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// The printable form of an address, or of a list at one: without passwords and without the query
/// of a signed address. Returns other text unchanged.
pub fn shown(text: &str) -> Cow<'_, str> {
    if let Some(list) = text.strip_prefix('@').filter(|list| is_address(list)) {
        return Cow::Owned(format!("@{}", shown(list)));
    }
    let Some((scheme, rest)) = text.split_once("://").filter(|_| is_address(text)) else {
        return Cow::Borrowed(text);
    };
    let rest = match scheme {
        "http" | "https" => rest.split(['?', '#']).next().unwrap_or_default(),
        _ => rest,
    };
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit('@').next().unwrap_or_default();
    Cow::Owned(format!("{scheme}://{host}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_addresses_have_no_password_and_no_signature() {
        let secret = "https://me:secret@host.example/a/b.warc.gz?X-Amz-Signature=secret#secret";
        assert_eq!(shown(secret), "https://host.example/a/b.warc.gz");
        assert_eq!(shown("s3://key:secret@bucket/a?.gz"), "s3://bucket/a?.gz");
        assert_eq!(shown("@https://host.example/list?key=secret"), "@https://host.example/list");
        assert_eq!(shown("hf://datasets/a/b@main/c"), "hf://datasets/a/b@main/c");
        assert_eq!(shown("crawl/a@b?.gz"), "crawl/a@b?.gz");
    }

    #[test]
    fn addresses_are_distinguished_from_files() {
        for address in
            ["s3://b/k", "gs://b", "az://c/", "hf://datasets/a/b", "http://h/", "https://h"]
        {
            assert!(is_address(address), "{address}");
        }
        for file in ["crawl/x.gz", "file:///x", "C://x", "s3:/b", "@s3://b/list", "ftp://x/y"] {
            assert!(!is_address(file), "{file}");
        }
    }
}
