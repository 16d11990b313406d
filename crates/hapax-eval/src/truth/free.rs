//! Labels that a crawl contains: `canonical`, a crawled page that another page names as its canonical address, and
//! `url_alias`, addresses that differ only in scheme, `www.`, fragment, trailing slash or index file.
//!
//! They can be wrong: a canonical link may be a mistake, and a page may change between two fetches. Redirects and
//! revisits are not labels, because the job follows them and would always be right.

use std::collections::BTreeMap;

use hapax_dedup::Pages;

use super::LabelledPair;

/// The labels of a corpus that was read.
pub fn labels(pages: &Pages) -> Vec<LabelledPair> {
    let mut by_address: BTreeMap<String, u32> = BTreeMap::new();
    let mut found = Vec::new();
    let pair = |a: u32, b: u32, label: &str| LabelledPair {
        a: pages.id(a).to_owned(),
        b: pages.id(b).to_owned(),
        label: label.to_owned(),
        jaccard: None,
    };
    for page in 0..pages.len() as u32 {
        let url = pages.url(page);
        if url.is_empty() {
            continue;
        }
        match by_address.entry(plain(url)) {
            std::collections::btree_map::Entry::Occupied(first) => {
                let first = *first.get();
                // The same address twice means two fetches, not two addresses of a page.
                if pages.url(first) != url {
                    found.push(pair(first, page, "url_alias"));
                }
            }
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(page);
            }
        }
    }
    for (page, canonical) in pages.canonicals() {
        let target = by_address.get(&plain(canonical)).copied();
        if let Some(target) = target.filter(|&it| plain(pages.url(it)) != plain(pages.url(page))) {
            found.push(pair(page, target, "canonical"));
        }
    }
    found
}

/// An address without its usually insignificant parts.
fn plain(url: &str) -> String {
    let url = url.split_once('#').map_or(url, |(before, _)| before);
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let path = ["index.html", "index.htm", "index.php"]
        .iter()
        .find_map(|name| path.strip_suffix(name).filter(|it| it.is_empty() || it.ends_with('/')))
        .unwrap_or(path);
    format!("{host}/{}", path.strip_suffix('/').unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_have_the_same_plain_address() {
        for url in [
            "http://www.example.org/a/",
            "https://Example.org/a",
            "https://example.org/a/index.html#top",
        ] {
            assert_eq!(plain(url), "example.org/a", "{url}");
        }
        assert_ne!(plain("http://example.org/a?x=1"), plain("http://example.org/a?x=2"));
        assert_ne!(plain("http://example.org/myindex.html"), plain("http://example.org/my"));
    }
}
