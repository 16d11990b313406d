//! Turns a page from a client into an observation: validated, extracted, fingerprinted.
//!
//! The engine extracts and fingerprints. This module decides what each field of a request means, and what to
//! answer if fields contradict each other.

use crate::wire::{PageInput, ReadySignature};
use hapax::fingerprint::{
    ContentHash, Fingerprint, Fingerprinter, RecipeId, RecipeMismatch, Sketch,
};
use hapax::page::{Body, Document, PageError};
use hapax_store::page::LONGEST_URL;
use hapax_store::{Action, Observation, StoredComparable};

/// A page from a client is not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Fields are missing, redundant or invalid.
    #[error("{0}")]
    Invalid(String),
    /// The fingerprint was made by another recipe.
    #[error(transparent)]
    OtherRecipe(RecipeMismatch),
    /// The bytes are neither HTML nor text.
    #[error(transparent)]
    NotAPage(#[from] PageError),
}

fn invalid(message: impl Into<String>) -> InputError {
    InputError::Invalid(message.into())
}

/// A page ready for comparison, with its text if it came with one.
#[derive(Debug)]
pub struct Prepared {
    pub url: String,
    pub action: Action,
    pub text: Option<String>,
}

impl From<Action> for Prepared {
    /// Without its text.
    fn from(action: Action) -> Self {
        Self { url: action.url().to_owned(), action, text: None }
    }
}

/// Validates and prepares a page from a client. If the fingerprinter has the repository's key, a
/// page with its text gets a keyed sketch.
///
/// # Errors
///
/// Fields are missing, redundant or invalid.
pub fn prepare(
    fingerprinter: &mut Fingerprinter,
    input: PageInput,
) -> Result<Prepared, InputError> {
    good_address("url", &input.url)?;
    let PageInput { url, html, text, signature, redirect, score, fetched, headers, .. } = input;
    let (canonical, language, field) = (input.canonical, input.language, input.field);
    let given = [html.is_some(), text.is_some(), signature.is_some(), redirect.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(invalid("give exactly one of html, text, signature and redirect"));
    }
    if score.is_some_and(|score| !score.is_finite()) {
        return Err(invalid("score must be a finite number"));
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
            let mut seen = ready(&url, &signature, fingerprinter.recipe_id())?;
            (seen.language, seen.canonical) = known.stated();
            (seen, None)
        }
        None => {
            let signed = fingerprinter.document(&known)?;
            let text = signed.page.text.clone();
            (Observation::of_page(url.as_str(), signed), Some(text))
        }
    };
    (seen.score, seen.fetched) = (score, fetched);
    seen.field = field.unwrap_or_default();
    Ok(Prepared { url, action: Action::Observe(Box::new(seen)), text: kept })
}

/// A fetched page, with its text.
///
/// # Errors
///
/// The bytes are neither HTML nor text.
pub fn fetched(
    fingerprinter: &mut Fingerprinter,
    url: &str,
    content_type: Option<&str>,
    bytes: &[u8],
) -> Result<(Observation, String), PageError> {
    let known = Document { content_type, url: Some(url), ..Document::new(Body::Bytes(bytes)) };
    let signed = fingerprinter.document(&known)?;
    let text = signed.page.text.clone();
    Ok((Observation::of_page(url, signed), text))
}

/// An observation from a fingerprint that was made elsewhere, by the same recipe.
///
/// # Errors
///
/// A field is malformed, or the recipe differs.
pub fn ready(
    url: &str,
    signature: &ReadySignature,
    ours: &RecipeId,
) -> Result<Observation, InputError> {
    let theirs: RecipeId =
        signature.recipe.parse().map_err(|e| invalid(format!("signature.recipe: {e}")))?;
    ours.must_be(&theirs).map_err(InputError::OtherRecipe)?;
    let content: ContentHash =
        signature.content.parse().map_err(|e| invalid(format!("signature.content: {e}")))?;
    let comparable = match (&signature.fingerprint, &signature.sketch) {
        (Some(fingerprint), Some(sketch)) => {
            let wrong = |e| invalid(format!("signature.fingerprint: {e}"));
            let fingerprint: Fingerprint = fingerprint.parse().map_err(wrong)?;
            let wrong = |e| invalid(format!("signature.sketch: {e}"));
            let sketch: Sketch = sketch.parse().map_err(wrong)?;
            Some(StoredComparable { fingerprint, sketch, too_short: signature.too_short })
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(invalid("a signature has both fingerprint and sketch, or neither"));
        }
    };
    let mut seen = Observation::of_parts(url, content, comparable);
    seen.words = signature.words;
    Ok(seen)
}

/// Checks that an address can be stored and displayed.
///
/// # Errors
///
/// It is empty, too long, or has control characters.
pub fn good_address(field: &str, url: &str) -> Result<(), InputError> {
    if url.is_empty() || url.len() > LONGEST_URL {
        let len = url.len();
        return Err(invalid(format!("{field} must have 1 to {LONGEST_URL} bytes, not {len}")));
    }
    if url.chars().any(char::is_control) {
        return Err(invalid(format!("{field} must not have control characters")));
    }
    Ok(())
}

/// Checks that an address can be the target of a redirect.
///
/// # Errors
///
/// It cannot be stored, or is the page's own.
pub fn good_redirect(from: &str, field: &str, to: &str) -> Result<(), InputError> {
    good_address(field, to)?;
    match from == to {
        true => Err(invalid(format!("{field} is the page's own address"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::fingerprint::Recipe;

    fn fingerprinter() -> Fingerprinter {
        Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap()
    }

    fn page(json: &str) -> Result<Prepared, InputError> {
        prepare(&mut fingerprinter(), serde_json::from_str(json).unwrap())
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
            assert!(matches!(page(wrong), Err(InputError::Invalid(_))), "{wrong}");
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
        let prepared = prepare(&mut fingerprinter(), input).unwrap();
        assert_eq!(prepared.text.as_deref(), Some("Green tea"));
        let Action::Observe(seen) = prepared.action else { panic!("not a page") };
        assert_eq!(seen.canonical.as_deref(), Some("http://a/tea"));
    }

    #[test]
    fn a_ready_signature_gives_the_same_verdict_as_its_text() {
        let mut fingerprinter = fingerprinter();
        let words: Vec<String> = (0..80).map(|n| format!("word{n}")).collect();
        let text = words.join(" ");
        let signature = fingerprinter.text(&text).unwrap();
        let ours = fingerprinter.recipe_id().clone();
        let seen = Observation::new("u", &signature);
        let mut sent = ReadySignature::new(&seen, &ours);
        assert_eq!(ready("u", &sent, &ours).unwrap(), seen);
        sent.recipe = "web-2:0000000000000000".into();
        assert!(matches!(ready("u", &sent, &ours), Err(InputError::OtherRecipe(_))));
        sent.recipe = ours.to_string();
        sent.sketch = Some("é".repeat(128));
        assert!(matches!(ready("u", &sent, &ours), Err(InputError::Invalid(_))));
    }
}
