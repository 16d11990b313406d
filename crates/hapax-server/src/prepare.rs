//! From what a client sent to what the repository takes: checked, purified, fingerprinted.
//!
//! No algorithm: the engine purifies and fingerprints. What is decided here is only which field
//! of a request means what, and what to answer when fields contradict each other.

use crate::error::{ApiError, Code};
use crate::wire::{PageInput, ReadyImprint};
use crate::writer::Operation;
use hapax::fingerprint::{ContentHash, Fingerprint, Fingerprinter, RecipeId, Sketch};
use hapax::page::{Hints, Page, Purifier, PurifyOptions};
use hapax_store::page::LONGEST_URL;
use hapax_store::{Contents, Observation};

/// The buffers for one page at a time.
#[derive(Debug)]
pub struct Tools {
    /// Text to bits.
    pub fingerprinter: Fingerprinter,
    /// HTML to text.
    pub purifier: Purifier,
}

impl Tools {
    /// For a recipe.
    pub fn new(fingerprinter: Fingerprinter) -> Self {
        let extent = fingerprinter.recipe().extent;
        // Nobody asks for links here, and making them absolute takes as long as the rest.
        let options = PurifyOptions { extent, collect_links: false, ..PurifyOptions::default() };
        Self { fingerprinter, purifier: Purifier::new(options) }
    }

    /// A page that was fetched: bytes with their type.
    ///
    /// # Errors
    ///
    /// The bytes are neither HTML nor text.
    pub fn fetched(
        &mut self,
        url: &str,
        content_type: Option<&str>,
        bytes: &[u8],
    ) -> Result<(Observation, String), ApiError> {
        let hints = Hints { content_type, url: Some(url) };
        let page = self.purifier.purify(bytes, &hints)?;
        let imprint = self.fingerprinter.purified(page);
        let mut seen = Observation::new(url, &imprint);
        note(&mut seen, page);
        Ok((seen, page.text.clone()))
    }

    /// The purified text of HTML or text, for showing.
    ///
    /// # Errors
    ///
    /// None today.
    pub fn purified(
        &mut self,
        html: Option<&str>,
        text: Option<&str>,
    ) -> Result<(Option<String>, String), ApiError> {
        let page = match (html, text) {
            (Some(html), None) => self.purifier.purify_html(html, &Hints::default())?,
            (None, text) => self.purifier.purify_text(text.unwrap_or_default())?,
            (Some(_), Some(_)) => return Err(ApiError::invalid("give html or text, not both")),
        };
        Ok((page.title.clone(), page.text.clone()))
    }
}

impl Clone for Tools {
    /// Same recipe, own buffers.
    fn clone(&self) -> Self {
        Self::new(self.fingerprinter.clone())
    }
}

/// A page ready to be judged, and its text if it came with one.
#[derive(Debug)]
pub struct Prepared {
    /// The page's address.
    pub url: String,
    /// What to do.
    pub operation: Operation,
    /// Its text.
    pub text: Option<String>,
}

/// Reads a page as a client sent it.
///
/// # Errors
///
/// Fields are missing, too many or wrong.
pub fn prepare(tools: &mut Tools, input: PageInput) -> Result<Prepared, ApiError> {
    good_address("url", &input.url)?;
    let PageInput { url, html, text, imprint, redirect, score, fetched, headers, .. } = input;
    let (canonical, language, field) = (input.canonical, input.language, input.field);
    let given = [html.is_some(), text.is_some(), imprint.is_some(), redirect.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(ApiError::invalid("give exactly one of html, text, imprint and redirect"));
    }
    if score.is_some_and(|score| !score.is_finite()) {
        return Err(ApiError::invalid("score must be a finite number"));
    }
    if let Some(to) = redirect {
        good_address("redirect", &to)?;
        let operation = Operation::Redirect { from: url.clone(), to, fetched };
        return Ok(Prepared { url, operation, text: None });
    }
    let mut kept = None;
    let mut seen = match (imprint, html, text) {
        (Some(imprint), ..) => ready(&url, &imprint, tools.fingerprinter.recipe_id())?,
        (None, html, text) => {
            let hints = Hints { content_type: None, url: Some(&url) };
            let page = match html {
                Some(html) => tools.purifier.purify_html(&html, &hints)?,
                None => tools.purifier.purify_text(text.as_deref().unwrap_or_default())?,
            };
            let imprint = tools.fingerprinter.purified(page);
            let mut seen = Observation::new(url.as_str(), &imprint);
            note(&mut seen, page);
            kept = Some(page.text.clone());
            seen
        }
    };
    (seen.score, seen.fetched) = (score, fetched);
    if let Some(canonical) = &canonical {
        good_address("canonical", canonical)?;
    }
    seen.canonical = seen.canonical.or(canonical);
    if seen.language.is_empty() {
        seen.language = primary(language.as_deref().unwrap_or_default());
    }
    seen.field = field.unwrap_or_default();
    for (name, value) in &headers {
        if name.eq_ignore_ascii_case("link") {
            seen.canonical = canonical_link(value, &url).or(seen.canonical);
        } else if name.eq_ignore_ascii_case("content-language") && seen.language.is_empty() {
            seen.language = primary(value.split(',').next().unwrap_or_default().trim());
        }
    }
    Ok(Prepared { url, operation: Operation::Observe(Box::new(seen)), text: kept })
}

/// An observation of a fingerprint made elsewhere, by the same recipe.
///
/// # Errors
///
/// Digits are wrong, or the recipe is another.
pub fn ready(url: &str, imprint: &ReadyImprint, ours: &RecipeId) -> Result<Observation, ApiError> {
    let theirs: RecipeId =
        imprint.recipe.parse().map_err(|e| ApiError::invalid(format!("imprint.recipe: {e}")))?;
    ours.must_be(&theirs).map_err(|e| ApiError::new(Code::OtherRecipe, e.to_string()))?;
    let content: ContentHash =
        imprint.content.parse().map_err(|e| ApiError::invalid(format!("imprint.content: {e}")))?;
    let contents = match (&imprint.fingerprint, &imprint.sketch) {
        (Some(fingerprint), Some(sketch)) => {
            let wrong = |e| ApiError::invalid(format!("imprint.fingerprint: {e}"));
            let fingerprint: Fingerprint = fingerprint.parse().map_err(wrong)?;
            let sketch = read_sketch(sketch).ok_or_else(|| {
                ApiError::invalid("imprint.sketch: 256 hexadecimal digits are needed")
            })?;
            Some(Contents { fingerprint, sketch, too_short: imprint.too_short })
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(ApiError::invalid(
                "an imprint has both fingerprint and sketch, or neither",
            ));
        }
    };
    let mut seen = Observation::of_parts(url, content, contents);
    seen.words = imprint.words;
    Ok(seen)
}

/// An address that can be kept and shown.
///
/// # Errors
///
/// It is empty, too long, or has control characters.
pub fn good_address(field: &str, url: &str) -> Result<(), ApiError> {
    if url.is_empty() || url.len() > LONGEST_URL {
        let len = url.len();
        return Err(ApiError::invalid(format!(
            "{field} must have 1 to {LONGEST_URL} bytes, not {len}"
        )));
    }
    if url.chars().any(char::is_control) {
        return Err(ApiError::invalid(format!("{field} must not have control characters")));
    }
    Ok(())
}

/// What the markup says of the page.
fn note(seen: &mut Observation, page: &Page) {
    seen.canonical = page.canonical.clone().filter(|url| url.len() <= LONGEST_URL);
    seen.language = primary(page.language.as_deref().unwrap_or_default());
}

/// The language without region and script, as scopes compare it.
fn primary(language: &str) -> String {
    language.split(['-', '_']).next().unwrap_or(language).to_owned()
}

fn read_sketch(digits: &str) -> Option<Sketch> {
    let mut bytes = [0u8; 128];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().as_chunks::<2>().0) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(Sketch::from_bytes(&bytes))
}

/// The target of `Link: <…>; rel="canonical"`, absolute.
fn canonical_link(value: &str, base: &str) -> Option<String> {
    let is_canonical = |parameters: &str| {
        parameters.split(';').any(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else { return false };
            let mut relations = value.trim().trim_matches('"').split_whitespace();
            name.trim().eq_ignore_ascii_case("rel")
                && relations.any(|relation| relation.eq_ignore_ascii_case("canonical"))
        })
    };
    value.split('<').skip(1).find_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let absolute = || Some(url::Url::parse(base).ok()?.join(target.trim()).ok()?.into());
        is_canonical(parameters.trim_end().trim_end_matches(',')).then(absolute)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::fingerprint::Recipe;

    fn tools() -> Tools {
        Tools::new(Fingerprinter::new(Recipe::built_in("web-1").unwrap(), None).unwrap())
    }

    fn page(json: &str) -> Result<Prepared, ApiError> {
        prepare(&mut tools(), serde_json::from_str(json).unwrap())
    }

    #[test]
    fn exactly_one_content_is_taken() {
        for wrong in [
            r#"{"url":"http://a"}"#,
            r#"{"url":"http://a","html":"x","text":"x"}"#,
            r#"{"url":"","text":"x"}"#,
            r#"{"url":"http://a\n","text":"x"}"#,
            r#"{"url":"http://a","redirect":""}"#,
        ] {
            assert_eq!(page(wrong).unwrap_err().code, Code::Invalid, "{wrong}");
        }
        assert!(matches!(
            page(r#"{"url":"http://a","redirect":"http://b"}"#).unwrap().operation,
            Operation::Redirect { .. }
        ));
    }

    #[test]
    fn html_is_purified_and_its_canonical_address_noted() {
        let html = "<link rel=canonical href=/tea><p>Green <b>tea</b></p><script>no</script>";
        let input =
            PageInput { url: "http://a/x".into(), html: Some(html.into()), ..PageInput::default() };
        let prepared = prepare(&mut tools(), input).unwrap();
        assert_eq!(prepared.text.as_deref(), Some("Green tea"));
        let Operation::Observe(seen) = prepared.operation else { panic!("not a page") };
        assert_eq!(seen.canonical.as_deref(), Some("http://a/tea"));
    }

    #[test]
    fn a_ready_imprint_says_the_same_as_its_text() {
        let mut tools = tools();
        let words: Vec<String> = (0..80).map(|n| format!("word{n}")).collect();
        let text = words.join(" ");
        let imprint = tools.fingerprinter.text(&text).unwrap();
        let mark = imprint.mark.clone().unwrap();
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let mut sent = ReadyImprint {
            recipe: tools.fingerprinter.recipe_id().to_string(),
            fingerprint: Some(mark.fingerprint.to_string()),
            sketch: Some(hex(&mark.sketch.to_bytes())),
            content: imprint.content.to_string(),
            words: imprint.words,
            too_short: imprint.too_short,
        };
        let ours = tools.fingerprinter.recipe_id().clone();
        assert_eq!(ready("u", &sent, &ours).unwrap(), Observation::new("u", &imprint));
        sent.recipe = "web-1:0000000000000000".into();
        assert_eq!(ready("u", &sent, &ours).unwrap_err().code, Code::OtherRecipe);
        sent.recipe = ours.to_string();
        sent.sketch = Some("é".repeat(128));
        assert_eq!(ready("u", &sent, &ours).unwrap_err().code, Code::Invalid);
    }

    #[test]
    fn the_canonical_link_of_a_header_is_found_among_others() {
        let value = r#"</style.css>; rel=preload, </tea>; rel="nofollow canonical"; title="x""#;
        assert_eq!(canonical_link(value, "http://a/b/c").as_deref(), Some("http://a/tea"));
        assert_eq!(canonical_link("</tea>; rel=next", "http://a/"), None);
        assert_eq!(canonical_link("<<<>>>;rel=canonical<", "no base"), None);
    }
}
