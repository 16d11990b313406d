//! Decides when links to two addresses are links to the same page.
//!
//! Ignores the scheme, the fragment, the case of the host, and one slash at the end: `http://Example.org/a/`
//! and `https://example.org/a#top` are one page. Everything else is normalized by the WHATWG URL standard.

use url::Url;

/// The key of the page at an address; `None` if it is not a web address.
pub fn page_key(address: &str) -> Option<String> {
    let mut url = Url::parse(address.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    url.set_fragment(None);
    let text = url.as_str();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    Some(rest.strip_suffix('/').unwrap_or(rest).to_owned())
}

#[cfg(test)]
mod tests {
    use super::page_key;

    #[test]
    fn spellings_of_one_page_have_one_key() {
        for spelling in [
            "http://example.org/a",
            "https://EXAMPLE.org/a/",
            " https://example.org:443/b/../a#top",
        ] {
            assert_eq!(page_key(spelling).as_deref(), Some("example.org/a"), "{spelling}");
        }
        assert_eq!(page_key("http://example.org").as_deref(), Some("example.org"));
        assert_eq!(page_key("http://example.org/a//").as_deref(), Some("example.org/a/"));
        assert_ne!(page_key("http://example.org/A"), page_key("http://example.org/a"));
    }

    #[test]
    fn what_is_no_address_on_the_web_has_none() {
        for other in ["", "a/b.html", "mailto:a@example.org", "ftp://example.org/", "http://"] {
            assert_eq!(page_key(other), None, "{other}");
        }
    }
}
