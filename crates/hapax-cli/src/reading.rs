//! What is printed about a corpus that is read: errors, what was left out, and that nothing is
//! there.
//!
//! The libraries speak of options, a user has flags; what comes from outside is made harmless.

use crate::failure::Failure;
use crate::readable::{self, counted};
use hapax_corpus::{ReadOptions, Source};
use std::path::Path;

/// What the library says where passing over damage would help.
const WAY_OUT: &str = "; `skip_bad` counts and passes it";

/// An error of a library in the words of this program.
pub(crate) fn failure(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let mut text = Failure::Run(anyhow::Error::new(error)).to_string();
    // No flag sets a limit.
    if let Some((said, limit)) = text.split_once("; raise limits.")
        && limit.ends_with("so long")
    {
        text = format!("{said}{WAY_OUT}");
    }
    Failure::Run(anyhow::anyhow!(in_flags(&text)))
}

/// Why something was skipped.
pub(crate) fn skipped(why: &hapax_corpus::Error) -> String {
    let why = why.to_string();
    // Which has just been done.
    let why = why.strip_suffix(WAY_OUT).unwrap_or(&why);
    readable::harmless(&in_flags(why)).into_owned()
}

fn in_flags(text: &str) -> String {
    text.replace("`skip_bad`", "--skip-bad")
        .replace("`format`", "--input-format")
        .replace("`all_files`", "--all-files")
        .replace("`follow_links`", "--follow-links")
        .replace("`restart`", "--restart")
}

/// A corpus without a single record.
pub(crate) fn no_document(inputs: &[impl AsRef<Path>]) -> Failure {
    let inputs: Vec<String> = inputs.iter().map(|it| readable::path(it.as_ref())).collect();
    Failure::Run(anyhow::anyhow!("there is no document in {}", inputs.join(", ")))
}

impl From<hapax_corpus::Error> for Failure {
    fn from(error: hapax_corpus::Error) -> Self {
        failure(error)
    }
}

/// How many files in the folders of a corpus are left out, for jobs that open it themselves.
pub(crate) fn ignored(inputs: &[String]) -> u64 {
    let may_be_folder =
        |input: &String| Path::new(input).is_dir() || input.contains(['@', '*', '?', '[']);
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
