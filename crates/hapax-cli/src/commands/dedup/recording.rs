//! Records the documents of a job in the repository of `--into`.
//!
//! Reads the inputs once more than the job does. Guarantees that no results appear if a file has another size or time
//! of change then than before the job's last reading, which compares the texts with the first one. Does not see a
//! change that keeps both.

use super::Arguments;
use crate::commands::page::add::{self, Corpus};
use crate::failure::Failure;
use crate::readable;
use hapax_corpus::{Source, Stamp};
use hapax_dedup::Options;
use hapax_store::Settings;
use std::path::Path;

/// Records the inputs and answers like `hapax page`.
pub(super) fn record(
    arguments: &Arguments,
    options: &Options,
    store: &Path,
) -> Result<(), Failure> {
    Inputs::open(arguments, options)?.record(arguments, options, store)
}

/// The recording of a job that also writes results.
pub(super) struct Recording<'a> {
    arguments: &'a Arguments,
    options: &'a Options,
    store: &'a Path,
    inputs: Option<Result<Inputs, Failure>>,
}

impl<'a> Recording<'a> {
    pub(super) fn new(arguments: &'a Arguments, options: &'a Options, store: &'a Path) -> Self {
        Self { arguments, options, store, inputs: None }
    }

    /// Opens the inputs; to be called before the job reads them for the last time.
    pub(super) fn open(&mut self) {
        self.inputs = Some(Inputs::open(self.arguments, self.options));
    }

    /// Records the inputs, if they are still those of the last reading.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let Self { arguments, options, store, inputs } = self;
        let inputs = inputs.unwrap_or_else(|| Inputs::open(arguments, options))?;
        inputs.unchanged("nothing was recorded, and no results were written")?;
        inputs.record(arguments, options, store)?;
        inputs.unchanged(
            "no results were written, and the repository may have pages as they were before and \
             after",
        )
    }
}

/// The inputs, and the version of each file when they were opened.
struct Inputs {
    source: Source,
    stamps: Vec<Option<Stamp>>,
}

impl Inputs {
    fn open(arguments: &Arguments, options: &Options) -> Result<Self, Failure> {
        let source = add::open(&arguments.inputs, options.read.clone())?;
        let stamps = source.stamps().collect();
        Ok(Self { source, stamps })
    }

    fn record(
        &self,
        arguments: &Arguments,
        options: &Options,
        store: &Path,
    ) -> Result<(), Failure> {
        let recipe = options.fingerprinter.recipe_id().clone();
        let settings = Settings { policy: options.policy, ..Settings::new(recipe) };
        let settings = arguments.wanted().made_of(settings);
        let corpus = Corpus {
            inputs: &arguments.inputs,
            source: &self.source,
            threads: arguments.reading.threads,
            json: false,
            quiet: arguments.reading.quiet,
        };
        add::record(corpus, store, &options.fingerprinter, settings)
    }

    /// Refuses a file that has changed; `so` says what has been done.
    fn unchanged(&self, so: &str) -> Result<(), Failure> {
        let now = self.source.stamps().zip(&self.stamps);
        let Some(at) = now.into_iter().position(|(now, then)| now != *then) else { return Ok(()) };
        let path = self.source.files().nth(at).unwrap_or_default();
        let path = readable::path(Path::new(&path));
        Err(Failure::Run(anyhow::anyhow!(
            "{path} has changed since it was read: {so}; start again with --restart"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fs;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_file_that_is_replaced_before_it_is_recorded_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (pages, store) = (at("pages.jsonl"), at("seen"));
        let line =
            |i: usize| format!("{{\"url\": \"https://a{i}.test/\", \"text\": \"some words\"}}\n");
        let write = |lines: usize| {
            fs::write(&pages, (0..lines).map(line).collect::<String>()).unwrap();
        };
        write(3);
        let words = ["dedup", &*pages, "--into", &store, "--out", &at("clean"), "--quiet"];
        let arguments = Program::parse_from(words).arguments;
        let options = arguments.options().unwrap();
        let replaced = |lines: usize| {
            let mut recording = Recording::new(&arguments, &options, Path::new(&store));
            recording.open();
            write(lines);
            recording.finish()
        };
        let said = replaced(2).unwrap_err().to_string();
        assert!(said.contains("pages.jsonl has changed"), "{said}");
        assert!(said.contains("nothing was recorded"), "{said}");
        assert!(!Path::new(&store).exists());

        // And while it is recorded.
        let inputs = Inputs::open(&arguments, &options).unwrap();
        inputs.record(&arguments, &options, Path::new(&store)).unwrap();
        inputs.unchanged("").unwrap();
        fs::remove_file(&pages).unwrap();
        assert!(inputs.unchanged("").is_err());
    }
}
