//! Reads documents like `hapax dedup`, for the commands of `hapax partition`.

use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::overwriting;
use crate::progress::Progress;
use crate::reading;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax::fingerprint::Fingerprinter;
use hapax_dedup::stages::featuring::{Featured, Featuring};
use hapax_partition::{EvenSample, PageFeatures};
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
    pub(crate) reading: ReadArguments,
}

impl PageArguments {
    /// The fingerprinter that splits texts into words.
    pub(crate) fn fingerprinter(&self) -> Result<Fingerprinter, Failure> {
        self.recipe.fingerprinter()
    }

    /// Refuses an output file that is one of the inputs.
    pub(crate) fn spare(&self, option: &str, out: Option<&Path>) -> Result<(), Failure> {
        overwriting::refuse(option, out, self.recipe.files())?;
        self.reading.spare(option, out, &self.inputs)
    }

    /// Samples this number of documents with words, spread evenly over all.
    pub(crate) fn sample(
        &self,
        fingerprinter: &Fingerprinter,
        progress: &mut Progress,
        most: usize,
    ) -> Result<Vec<PageFeatures>, Failure> {
        let mut sample = EvenSample::new(most);
        self.each(fingerprinter, progress, |page| {
            if !page.features.words.is_empty() {
                sample.add(page.features);
            }
            Ok(())
        })?;
        Ok(sample.into_kept())
    }

    /// Passes all documents to `take`, in order.
    pub(crate) fn each(
        &self,
        fingerprinter: &Fingerprinter,
        progress: &mut Progress,
        mut take: impl FnMut(Featured) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let source = self.reading.open(&self.inputs)?;
        let featuring = Featuring::new(fingerprinter).map_err(anyhow::Error::new)?;
        let count = |page: Featured, progress: &mut Progress| {
            progress.page(page.bytes);
            progress.read().without_features += u64::from(page.features.words.is_empty());
            take(page)
        };
        self.reading.signatures(
            &source,
            fingerprinter,
            progress,
            |at_hand| Ok(featuring.of(at_hand)),
            count,
        )?;
        if let Some(line) = reading::ignored_line(source.ignored()).filter(|_| !self.reading.quiet)
        {
            progress.note(&line);
        }
        Ok(())
    }
}
