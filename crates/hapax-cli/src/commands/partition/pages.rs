//! Documents as `hapax dedup` reads them, for the commands of `hapax partition`.

use crate::corpus::CorpusArguments;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax::fingerprint::Fingerprinter;
use hapax_corpus::Source;
use hapax_dedup::stages::featuring::{Featured, Featuring};
use std::num::NonZeroUsize;

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
        let source = Source::open(&self.inputs, options).map_err(crate::corpus::failure)?;
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
                    progress.skip(&anyhow::anyhow!(crate::corpus::skipped(&why)));
                }
            }
            Ok(())
        });
        outcome.map_err(|stopped| match stopped {
            Stopped::Failed(failure) => failure,
            Stopped::Bad(error) => crate::corpus::failure(error),
        })
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
