//! What is printed about a corpus that is read: errors, what was left out, and that nothing is
//! there.
//!
//! The libraries say which option would help, a user has flags; what comes from outside is made harmless.

use crate::failure::Failure;
use crate::readable::{self, counted};
use hapax_corpus::{ReadOptions, Remedy, Source};
use std::path::Path;

/// An error of a library, with the flag that would help.
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

/// Why something was skipped.
pub(crate) fn skipped(why: &hapax_corpus::Error) -> String {
    // Skipping has just been done.
    let flag = why.remedy().filter(|it| *it != Remedy::SkipBad).map(advice).unwrap_or_default();
    readable::harmless(&format!("{why}{flag}")).into_owned()
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

/// A corpus without a single record.
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

/// How many files in the folders of a corpus are left out, for jobs that open it themselves.
pub(crate) fn ignored(inputs: &[String]) -> u64 {
    let may_be_folder = |input: &String| {
        let is_pattern = input.contains(['@', '*', '?', '[']);
        Path::new(input).is_dir() || is_pattern || hapax_corpus::is_address(input)
    };
    if !inputs.iter().any(may_be_folder) {
        return 0;
    }
    Source::open(inputs, ReadOptions::default()).map_or(0, |source| source.ignored())
}

/// The line about them, if there are any.
pub(crate) fn ignored_line(ignored: u64) -> Option<String> {
    let files = counted(ignored, "other file");
    (ignored > 0).then(|| {
        format!(
            "{files} in folders ignored: neither name nor content says that they hold documents"
        )
    })
}
