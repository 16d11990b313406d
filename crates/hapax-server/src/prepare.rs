//! From what a client sent to what the repository takes: checked, extracted, fingerprinted.
//!
//! No algorithm: the engine extracts and fingerprints. What is decided here is only which field
//! of a request means what, and what to answer when fields contradict each other.

use crate::error::{ApiError, Code};
use crate::wire::{PageInput, ReadySignature};
use hapax::fingerprint::{ContentHash, Fingerprint, Fingerprinter, RecipeId, Sketch};
use hapax::page::{Body, Document};
use hapax_store::page::LONGEST_URL;
use hapax_store::{Action, Contents, Observation};

/// The buffers for one page at a time.
#[derive(Clone, Debug)]
pub struct Tools {
    pub fingerprinter: Fingerprinter,
}

impl Tools {
    /// For a recipe.
    pub fn new(fingerprinter: Fingerprinter) -> Self {
        Self { fingerprinter }
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
        let known = Document { content_type, url: Some(url), ..Document::new(Body::Bytes(bytes)) };
        let signed = self.fingerprinter.document(&known)?;
        let text = signed.page.text.clone();
        Ok((Observation::of_page(url, signed), text))
    }

    /// The extracted text of HTML or text, for showing.
    ///
    /// # Errors
    ///
    /// None today.
    pub fn extracted(
        &mut self,
        html: Option<&str>,
        text: Option<&str>,
    ) -> Result<(Option<String>, String), ApiError> {
        let body = match (html, text) {
            (Some(html), None) => Body::Html(html),
            (None, text) => Body::Text(text.unwrap_or_default()),
            (Some(_), Some(_)) => return Err(ApiError::invalid("give html or text, not both")),
        };
        let page = self.fingerprinter.extract(&Document::new(body))?;
        Ok((page.title.clone(), page.text.clone()))
    }
}

/// A page ready to be judged, and its text if it came with one.
#[derive(Debug)]
pub struct Prepared {
    /// The page's address.
    pub url: String,
    pub action: Action,
    pub text: Option<String>,
}

/// Reads a page as a client sent it.
///
/// # Errors
///
/// Fields are missing, too many or wrong.
pub fn prepare(tools: &mut Tools, input: PageInput) -> Result<Prepared, ApiError> {
    good_address("url", &input.url)?;
    let PageInput { url, html, text, signature, redirect, score, fetched, headers, .. } = input;
    let (canonical, language, field) = (input.canonical, input.language, input.field);
    let given = [html.is_some(), text.is_some(), signature.is_some(), redirect.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(ApiError::invalid("give exactly one of html, text, signature and redirect"));
    }
    if score.is_some_and(|score| !score.is_finite()) {
        return Err(ApiError::invalid("score must be a finite number"));
    }
    if let Some(to) = redirect {
        good_redirect(&url, "redirect", &to)?;
        let action = Action::Redirect { from: url.clone(), to, fetched };
        return Ok(Prepared { url, action, text: None });
    }
    if let Some(canonical) = &canonical {
        good_address("canonical", canonical)?;
    }
    let header = |wanted: &str| {
        let mut named = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.next().map(|(_, value)| value.as_str())
    };
    let body = match &html {
        Some(html) => Body::Html(html),
        None => Body::Text(text.as_deref().unwrap_or_default()),
    };
    let known = Document {
        url: Some(&url),
        language: language.as_deref(),
        canonical: canonical.as_deref(),
        http_language: header("content-language"),
        http_link: header("link"),
        ..Document::new(body)
    };
    let (mut seen, kept) = match signature {
        Some(signature) => {
            let mut seen = ready(&url, &signature, tools.fingerprinter.recipe_id())?;
            (seen.language, seen.canonical) = known.stated();
            (seen, None)
        }
        None => {
            let signed = tools.fingerprinter.document(&known)?;
            let text = signed.page.text.clone();
            (Observation::of_page(url.as_str(), signed), Some(text))
        }
    };
    (seen.score, seen.fetched) = (score, fetched);
    seen.field = field.unwrap_or_default();
    Ok(Prepared { url, action: Action::Observe(Box::new(seen)), text: kept })
}

/// An observation of a fingerprint made elsewhere, by the same recipe.
///
/// # Errors
///
/// Digits are wrong, or the recipe is another.
pub fn ready(
    url: &str,
    signature: &ReadySignature,
    ours: &RecipeId,
) -> Result<Observation, ApiError> {
    let theirs: RecipeId = signature
        .recipe
        .parse()
        .map_err(|e| ApiError::invalid(format!("signature.recipe: {e}")))?;
    ours.must_be(&theirs).map_err(|e| ApiError::new(Code::OtherRecipe, e.to_string()))?;
    let content: ContentHash = signature
        .content
        .parse()
        .map_err(|e| ApiError::invalid(format!("signature.content: {e}")))?;
    let contents = match (&signature.fingerprint, &signature.sketch) {
        (Some(fingerprint), Some(sketch)) => {
            let wrong = |e| ApiError::invalid(format!("signature.fingerprint: {e}"));
            let fingerprint: Fingerprint = fingerprint.parse().map_err(wrong)?;
            let sketch = read_sketch(sketch).ok_or_else(|| {
                ApiError::invalid("signature.sketch: 256 hexadecimal digits are needed")
            })?;
            Some(Contents { fingerprint, sketch, too_short: signature.too_short })
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(ApiError::invalid(
                "a signature has both fingerprint and sketch, or neither",
            ));
        }
    };
    let mut seen = Observation::of_parts(url, content, contents);
    seen.words = signature.words;
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

/// An address that another page can redirect to.
///
/// # Errors
///
/// It cannot be kept, or is the page's own.
pub fn good_redirect(from: &str, field: &str, to: &str) -> Result<(), ApiError> {
    good_address(field, to)?;
    match from == to {
        true => Err(ApiError::invalid(format!("{field} is the page's own address"))),
        false => Ok(()),
    }
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
            page(r#"{"url":"http://a","redirect":"http://b"}"#).unwrap().action,
            Action::Redirect { .. }
        ));
    }

    #[test]
    fn html_is_extracted_and_its_canonical_address_noted() {
        let html = "<link rel=canonical href=/tea><p>Green <b>tea</b></p><script>no</script>";
        let input =
            PageInput { url: "http://a/x".into(), html: Some(html.into()), ..PageInput::default() };
        let prepared = prepare(&mut tools(), input).unwrap();
        assert_eq!(prepared.text.as_deref(), Some("Green tea"));
        let Action::Observe(seen) = prepared.action else { panic!("not a page") };
        assert_eq!(seen.canonical.as_deref(), Some("http://a/tea"));
    }

    #[test]
    fn a_ready_signature_says_the_same_as_its_text() {
        let mut tools = tools();
        let words: Vec<String> = (0..80).map(|n| format!("word{n}")).collect();
        let text = words.join(" ");
        let signature = tools.fingerprinter.text(&text).unwrap();
        let mark = signature.mark.clone().unwrap();
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let mut sent = ReadySignature {
            recipe: tools.fingerprinter.recipe_id().to_string(),
            fingerprint: Some(mark.fingerprint.to_string()),
            sketch: Some(hex(&mark.sketch.to_bytes())),
            content: signature.content.to_string(),
            words: signature.words,
            too_short: signature.too_short,
        };
        let ours = tools.fingerprinter.recipe_id().clone();
        assert_eq!(ready("u", &sent, &ours).unwrap(), Observation::new("u", &signature));
        sent.recipe = "web-1:0000000000000000".into();
        assert_eq!(ready("u", &sent, &ours).unwrap_err().code, Code::OtherRecipe);
        sent.recipe = ours.to_string();
        sent.sketch = Some("é".repeat(128));
        assert_eq!(ready("u", &sent, &ours).unwrap_err().code, Code::Invalid);
    }
}
