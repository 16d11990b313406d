//! Every error of the engine as a Python exception.
//!
//! The classes are in `python/hapax/errors.py`, one for each kind, with `path` and `reason`. What
//! the operating system says stays what Python calls it: `FileNotFoundError`, `PermissionError`
//! and their like, with number and file name.
//!
//! An exception's text is the whole chain of causes: Python shows one line, not our `source`s.

use std::error::Error;
use std::io;
use std::path::Path;

use hapax::page::PageError;
use hapax_client::client::ClientError;
use hapax_client::prepare::InputError;
use hapax_corpus::Remedy;
use hapax_dedup::recipes::LoadError;
use hapax_dedup::stages::LinesError;
use hapax_store::StoreError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

const CLASSES: &str = "hapax.errors";

/// An exception of our own, by the name of its class.
pub(crate) fn raised(class: &str, reason: impl Into<String>, path: Option<&Path>) -> PyErr {
    let reason = reason.into();
    Python::attach(|py| {
        let made = py.import(CLASSES).and_then(|classes| {
            let named = PyDict::new(py);
            if let Some(path) = path {
                named.set_item("path", path.display().to_string())?;
            }
            classes.getattr(class)?.call((reason,), Some(&named))
        });
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    })
}

/// What the operating system said about a file.
pub(crate) fn system(path: &Path, error: &io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return raised("DiskError", error.to_string(), Some(path));
    };
    let said = error.to_string();
    let said = said.split(" (os error").next().unwrap_or(&said).to_owned();
    PyOSError::new_err((number, said, path.display().to_string()))
}

/// An error and its causes on one line, without saying anything twice.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = inner.source();
    }
    text
}

pub(crate) fn of_recipe(error: &LoadError) -> PyErr {
    match error {
        LoadError::Io { path, source } => system(path, source),
        LoadError::Recipe { path, source } => raised("RecipeError", chain(source), path.as_deref()),
    }
}

pub(crate) fn of_page(error: &PageError) -> PyErr {
    raised("PageError", error.to_string(), None)
}

pub(crate) fn of_argument(error: &dyn Error) -> PyErr {
    raised("ArgumentError", chain(error), None)
}

pub(crate) fn of_lines(error: &LinesError, path: Option<&Path>) -> PyErr {
    match (error, path) {
        (LinesError::Io { source, .. }, Some(path)) => system(path, source),
        (LinesError::Recipes { .. }, _) => raised("RecipeMismatchError", chain(error), path),
        _ => raised("CorpusError", chain(error), path),
    }
}

pub(crate) fn of_store(error: StoreError) -> PyErr {
    let text = chain(&error);
    match &error {
        StoreError::Exists { folder } => raised("RepositoryExistsError", text, Some(folder)),
        StoreError::Missing { file } => raised("RepositoryMissingError", text, Some(file)),
        StoreError::InUse { folder } => raised("RepositoryInUseError", text, Some(folder)),
        StoreError::Foreign { file, .. } => raised("NotARepositoryError", text, Some(file)),
        StoreError::Newer { file, .. } => raised("RepositoryTooNewError", text, Some(file)),
        StoreError::OtherRecipe { folder, .. } => raised("RecipeMismatchError", text, Some(folder)),
        StoreError::OtherSetting { folder, .. } => {
            raised("SettingsMismatchError", text, Some(folder))
        }
        StoreError::Damaged { file, .. } | StoreError::Bookkeeping { file } => {
            raised("DamagedError", text, Some(file))
        }
        StoreError::Disk { file, source } => match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => system(file, source),
            _ => raised("DiskError", text, Some(file)),
        },
        StoreError::BadUrl { .. }
        | StoreError::BadMarket { .. }
        | StoreError::SelfRedirect { .. } => raised("ArgumentError", text, None),
        StoreError::NoMarket { folder, .. } => raised("ArgumentError", text, Some(folder)),
        _ => raised("RepositoryError", text, None),
    }
}

/// What a page's fields are found to be, before the repository sees it.
pub(crate) fn of_input(error: &InputError) -> PyErr {
    let class = match error {
        InputError::OtherRecipe(_) => "RecipeMismatchError",
        InputError::NotAPage(_) => "PageError",
        _ => "ArgumentError",
    };
    raised(class, chain(error), None)
}

pub(crate) fn of_client(error: &ClientError) -> PyErr {
    let text = chain(error);
    match error {
        ClientError::Refused { code, status, server, .. } => {
            let (code, status, server) = (code.clone(), *status, server.clone());
            Python::attach(|py| {
                let made = py.import(CLASSES).and_then(|classes| {
                    classes.getattr("RefusedError")?.call1((text, server, code, status))
                });
                made.map_or_else(|error| error, PyErr::from_value)
            })
        }
        ClientError::Unreachable { server, .. } => {
            raised("UnreachableError", text, Some(Path::new(server)))
        }
        ClientError::Strange { server, .. } => {
            raised("StrangeAnswerError", text, Some(Path::new(server)))
        }
        _ => raised("ServiceError", text, None),
    }
}

pub(crate) fn of_corpus(error: &hapax_corpus::Error) -> PyErr {
    use hapax_corpus::Error as Corpus;
    let text = chain(error) + error.remedy().map(advice).unwrap_or_default();
    match error {
        Corpus::Io { path, source, .. } => system(Path::new(path), source),
        Corpus::NoInput { pattern, .. } => {
            raised("NoDocumentsError", text, Some(Path::new(pattern)))
        }
        Corpus::WrongFormat { path, .. }
        | Corpus::Unsupported { path, .. }
        | Corpus::TextTable { path }
        | Corpus::OutsideLink { path }
        | Corpus::Damaged { path, .. }
        | Corpus::TooLong { path, .. }
        | Corpus::Json { path, .. }
        | Corpus::Missing { path, .. }
        | Corpus::WrongType { path, .. }
        | Corpus::Output { path, .. } => raised("CorpusError", text, Some(Path::new(path))),
        _ => raised("CorpusError", text, None),
    }
}

/// The argument that would have helped.
fn advice(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::SkipBad => "; skip_bad=True counts and passes it",
        Remedy::Format => ", or say what it is by input_format=",
        Remedy::FollowLinks => ", or let follow_links=True read it",
        Remedy::Restart => " with restart=True",
        // There is no such argument.
        _ => "",
    }
}

pub(crate) fn of_job(error: &hapax_dedup::Error) -> PyErr {
    use hapax_dedup::Error as Job;
    let text = chain(error) + error.remedy().map(advice).unwrap_or_default();
    match error {
        Job::Corpus(error) => of_corpus(error),
        Job::Io { path, source, .. } => system(path, source),
        Job::NotEmpty { path, .. } | Job::NotAFolder { path } => {
            raised("OutputExistsError", text, Some(path))
        }
        Job::DuplicateId { .. } => raised("DuplicateIdError", text, None),
        Job::NoDocuments { inputs } => raised("NoDocumentsError", text, Some(Path::new(inputs))),
        Job::Changed { path } => raised("CorpusError", text, Some(Path::new(path))),
        Job::Join(_) => raised("ArgumentError", text, None),
        Job::Signatures { path, .. } => raised("CorpusError", text, Some(path)),
        Job::Table { path, .. } => raised("DiskError", text, Some(path)),
        Job::Busy { path } => raised("JobError", text, Some(path)),
        _ => raised("JobError", text, None),
    }
}
