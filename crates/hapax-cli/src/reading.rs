//! Messages about a corpus: errors, skipped input, and missing documents.
//!
//! The libraries name the option that would help; this module names the flag. Outside text loses its control
//! characters.

use crate::failure::Failure;
use crate::readable::{self, counted};
use hapax_corpus::{Ignored, ReadOptions, Remedy, Source};
use std::path::Path;

/// A library's error, with the flag that would help.
pub(crate) fn failure(
    error: impl std::error::Error + Send + Sync + 'static,
    remedy: Option<Remedy>,
) -> Failure {
    let flag = remedy.map(advice).unwrap_or_default();
    match flag.is_empty() {
        true => Failure::Run(anyhow::Error::new(error)),
        false => Failure::Run(anyhow::anyhow!("{error}{flag}")),
    }
}

/// The message for skipped records.
pub(crate) fn skipped(bad: &hapax_corpus::Bad) -> String {
    // Advice to skip would be pointless here.
    let remedy = bad.error.remedy().filter(|it| *it != Remedy::SkipBad);
    let flag = remedy.map(advice).unwrap_or_default();
    readable::harmless(&format!("{bad}{flag}")).into_owned()
}

fn advice(remedy: Remedy) -> String {
    match remedy {
        Remedy::SkipBad => "; --skip-bad counts and passes it".to_owned(),
        Remedy::Format => ", or say what it is by --input-format".to_owned(),
        Remedy::AllFiles(others) => {
            format!("; --all-files would read its {}", counted(others, "other file"))
        }
        Remedy::FollowLinks => ", or let --follow-links read it".to_owned(),
        Remedy::Restart => " with --restart".to_owned(),
        _ => String::new(),
    }
}

/// The error for a corpus without any document.
pub(crate) fn no_document(inputs: &[impl AsRef<Path>]) -> Failure {
    let inputs: Vec<String> = inputs.iter().map(|it| readable::path(it.as_ref())).collect();
    Failure::Run(anyhow::anyhow!("there is no document in {}", inputs.join(", ")))
}

impl From<hapax_corpus::Error> for Failure {
    fn from(error: hapax_corpus::Error) -> Self {
        let remedy = error.remedy();
        failure(error, remedy)
    }
}

/// The ignored files in the folders of a corpus, for jobs that open it themselves.
pub(crate) fn ignored(inputs: &[String], options: ReadOptions) -> Ignored {
    let may_be_folder = |input: &String| {
        let is_pattern = input.contains(['@', '*', '?', '[']);
        Path::new(input).is_dir() || is_pattern || hapax_corpus::is_address(input)
    };
    if !inputs.iter().any(may_be_folder) {
        return Ignored::default();
    }
    Source::open(inputs, options).map(|source| source.ignored().clone()).unwrap_or_default()
}

/// A note about ignored files; `None` if there are none.
pub(crate) fn ignored_line(ignored: &Ignored) -> Option<String> {
    without_advice(ignored).map(|line| format!("{line}; --all-files reads them"))
}

/// The note of commands that do not have the flag.
pub(crate) fn without_advice(ignored: &Ignored) -> Option<String> {
    let example = readable::path(ignored.example.as_deref()?);
    let files = counted(ignored.files, "other file");
    Some(format!(
        "{files} in folders ignored, such as {example}: neither name nor content says that they hold documents"
    ))
}
