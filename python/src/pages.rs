//! A page as Python gives it, in the form that a repository and a service both take.

use std::collections::BTreeMap;

use hapax::page::{Hints, Kind, decoded};
use hapax_client::wire::{PageInput, ReadySignature};
use hapax_store::Observation;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use crate::errors::{of_page, raised};
use crate::signature::Signature;
use crate::texts::not_unicode;

/// Everything that may be known; the package always gives all of it.
pub(crate) struct Given {
    url: String,
    html: Option<String>,
    text: Option<String>,
    data: Option<PyBackedBytes>,
    content_type: Option<String>,
    signature: Option<Py<Signature>>,
    redirect: Option<String>,
    score: Option<f64>,
    fetched: Option<u64>,
    headers: BTreeMap<String, String>,
}

impl Given {
    /// Of a dictionary. Errors are those of the field itself, such as what cannot be encoded.
    pub(crate) fn of(page: &Bound<'_, PyDict>) -> PyResult<Self> {
        let field = |name: &str| page.as_any().get_item(name);
        Ok(Self {
            url: field("url")?.extract()?,
            html: field("html")?.extract()?,
            text: field("text")?.extract()?,
            data: field("data")?.extract()?,
            content_type: field("content_type")?.extract()?,
            signature: field("signature")?.extract()?,
            redirect: field("redirect")?.extract()?,
            score: field("score")?.extract()?,
            fetched: field("fetched")?.extract()?,
            headers: field("headers")?.extract()?,
        })
    }

    /// Of many.
    pub(crate) fn all(pages: &[Bound<'_, PyDict>]) -> PyResult<Vec<Self>> {
        let one = |(number, page): (usize, &Bound<'_, PyDict>)| {
            Self::of(page).map_err(|error| {
                let url = page.get_item("url").ok().flatten().map(|url| url.to_string());
                of_page_at(error, number, &url.unwrap_or_default())
            })
        };
        pages.iter().enumerate().map(one).collect()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Bytes become HTML or text by what they are; the package sees to it that they are all that
    /// is given.
    ///
    /// # Errors
    ///
    /// They are neither.
    pub(crate) fn input(self) -> PyResult<PageInput> {
        let Self { url, mut html, mut text, redirect, score, fetched, headers, .. } = self;
        if let Some(data) = &self.data {
            let hints = Hints { content_type: self.content_type.as_deref(), url: Some(&url) };
            let (kind, decoded) = decoded(data, &hints).map_err(|error| of_page(&error))?;
            match kind {
                Kind::Html => html = Some(decoded.into_owned()),
                Kind::Text => text = Some(decoded.into_owned()),
            }
        }
        let signature = self.signature.as_ref().map(|signature| ready(signature.get()));
        // Headers say these, as they do for the service.
        let (canonical, language, field) = (None, None, None);
        Ok(PageInput {
            url,
            html,
            text,
            signature,
            redirect,
            score,
            fetched,
            canonical,
            language,
            field,
            headers,
        })
    }
}

/// The same error with the page it is about.
pub(crate) fn of_page_at(error: PyErr, number: usize, url: &str) -> PyErr {
    let place = format!("page {number} ({url})");
    Python::attach(|py| {
        if error.is_instance_of::<PyUnicodeEncodeError>(py) {
            return not_unicode(py, error, &place);
        }
        match error.value(py).getattr("at") {
            Ok(at) => at.call1((&place,)).map_or_else(|error| error, PyErr::from_value),
            Err(_) => {
                let said = format!("{place}: {}", error.value(py));
                PyErr::from_type(error.get_type(py), said)
            }
        }
    })
}

/// Seconds since 1970 of a date or a date and time.
#[pyfunction]
pub(crate) fn parse_time(text: &str) -> PyResult<u64> {
    let wrong = |error| raised("ArgumentError", format!("{error}; not {text:?}"), None);
    hapax_client::moment::parse(text).map_err(wrong)
}

fn ready(signature: &Signature) -> ReadySignature {
    let Signature { signature, recipe } = signature;
    ReadySignature::new(&Observation::new("", signature), recipe)
}
