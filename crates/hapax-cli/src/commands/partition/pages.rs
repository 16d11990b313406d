//! Documents as `hapax dedup` reads them, for the commands of `hapax partition`.

use crate::corpus::CorpusArguments;
use crate::failure::Failure;
use crate::overwriting;
use crate::progress::Progress;
use crate::reading;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax::fingerprint::Fingerprinter;
use hapax_corpus::Source;
use hapax_dedup::stages::featuring::{Featured, Featuring};
use std::num::NonZeroUsize;
use std::path::Path;

/// Which documents, and by whose words.
#[derive(Args, Debug)]
pub(crate) struct PageArguments {
    /// Files, folders, globs, @lists of files, or `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,

    #[command(flatten)]
    recipe: RecipeArguments,

    #[command(flatten)]
    corpus: CorpusArguments,

    /// Name, count and leave out what cannot be read, instead of stopping
    #[arg(long)]
    skip_bad: bool,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = crate::inputs::threads)]
    threads: Option<NonZeroUsize>,

    /// No progress and no summary; errors are still told
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl PageArguments {
    /// What makes words out of texts.
    ///
    /// # Errors
    ///
    /// As for the recipe.
    pub(crate) fn fingerprinter(&self) -> Result<Fingerprinter, Failure> {
        self.recipe.fingerprinter()
    }

    /// Refuses to write a result over what is read.
    ///
    /// # Errors
    ///
    /// It would be; both are named.
    pub(crate) fn spare(&self, option: &str, out: Option<&Path>) -> Result<(), Failure> {
        overwriting::refuse(option, out, self.recipe.files())?;
        overwriting::refuse_corpus(option, out, &self.inputs)
    }

    /// Hands all documents to `take`, in order.
    ///
    /// # Errors
    ///
    /// An input is bad and bad input is not skipped; or what `take` says.
    pub(crate) fn each(
        &self,
        fingerprinter: &Fingerprinter,
        progress: &mut Progress,
        mut take: impl FnMut(Featured) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let options = self.corpus.read_options(self.skip_bad);
        reading::check_fields(&self.inputs, &options, self.threads)?;
        let source = Source::open(&self.inputs, options).map_err(reading::failure)?;
        let featuring = Featuring::new(fingerprinter).map_err(anyhow::Error::new)?;
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.threads.unwrap_or_else(all);
        let outcome = featuring.each(&source, threads, |result| {
            match result {
                Ok(page) => {
                    progress.page(page.bytes);
                    progress.read().without_features += u64::from(page.features.words.is_empty());
                    take(page).map_err(Stopped::Failed)?;
                }
                Err(why) => {
                    progress.skip(&anyhow::anyhow!("{}", reading::skipped(&why)));
                }
            }
            Ok(())
        });
        outcome.map_err(|stopped| match stopped {
            Stopped::Failed(failure) => failure,
            Stopped::Bad(error) => reading::failure(error),
        })?;
        if let Some(line) = reading::ignored_line(source.ignored()).filter(|_| !self.quiet) {
            progress.note(&line);
        }
        Ok(())
    }
}

/// Why a corpus was not read to its end.
enum Stopped {
    Bad(hapax_corpus::Error),
    Failed(Failure),
}

impl From<hapax_corpus::Error> for Stopped {
    fn from(error: hapax_corpus::Error) -> Self {
        Self::Bad(error)
    }
}
