//! Reads the documents of a corpus, with one set of flags for all commands.
//!
//! `hapax_corpus` reads everything: pages, folders of pages, archives, tables, lists of files, standard input. Damage
//! stops a run, or is reported, counted and skipped with --skip-bad.

use crate::failure::Failure;
use crate::overwriting;
use crate::progress::Progress;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hapax::fingerprint::Fingerprinter;
use hapax_corpus::{Bad, Document, Fields, Format, ReadOptions, Source, check_fields};
use hapax_dedup::stages::signing::{AtHand, each, each_document};
use std::num::NonZeroUsize;
use std::path::Path;

/// What a user can say about reading.
#[derive(Args, Debug)]
pub(crate) struct ReadArguments {
    /// Read inputs as this format [default: by their first bytes, then by name]
    #[arg(long, value_name = "FORMAT", value_parser = input_formats())]
    input_format: Option<Format>,

    /// Also read responses with an HTTP error status as documents
    #[arg(long)]
    error_pages: bool,

    /// In folders, read every file except hidden ones, whatever its name
    ///
    /// Without it, files count by their names (.html, .htm, .shtml, .xhtml, .xht, .txt, .text, .md,
    /// .markdown, .jsonl, .parquet, .warc, ...) or by unmistakable first bytes. Links to folders
    /// are never followed.
    #[arg(long)]
    all_files: bool,

    /// In folders, follow links to files outside the folder
    #[arg(long)]
    follow_links: bool,

    /// Skip, name and count what cannot be read, instead of stopping
    #[arg(long)]
    skip_bad: bool,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// No progress and no summary; errors are still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    fields: FieldArguments,
}

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(n) if n.get() <= 1024 => Ok(n),
        _ => Err("a number of threads is 1 to 1024".to_owned()),
    }
}

/// The given number of threads, or one per core.
pub(crate) fn or_all_cores(threads: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    threads.unwrap_or_else(all)
}

impl ReadArguments {
    /// The named fields with the flags that name them. The reader reports a missing page or text
    /// field.
    fn named_fields(&self) -> Vec<(String, String)> {
        let fields = &self.fields;
        let named = [
            ("--id-field", &fields.id_field),
            ("--url-field", &fields.url_field),
            ("--score-field", &fields.score_field),
            ("--fetched-field", &fields.fetched_field),
            ("--language-field", &fields.language_field),
        ];
        let words = |(flag, name): (&str, &Option<String>)| {
            name.as_ref().map(|name| (format!("{flag} {name}"), name.clone()))
        };
        named.into_iter().filter_map(words).collect()
    }

    /// The options of the reader.
    pub(crate) fn options(&self) -> ReadOptions {
        let fields = &self.fields;
        ReadOptions {
            fields: Fields {
                id: fields.id_field.clone(),
                url: fields.url_field.clone(),
                html: fields.html_field.clone(),
                text: fields.text_field.clone(),
                score: fields.score_field.clone(),
                fetched: fields.fetched_field.clone(),
                language: fields.language_field.clone(),
            },
            format: self.input_format,
            keep_error_pages: self.error_pages,
            all_files: self.all_files,
            follow_links: self.follow_links,
            skip_bad: self.skip_bad,
            named: self.named_fields(),
            ..ReadOptions::default()
        }
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        or_all_cores(self.threads)
    }

    /// Refuses an `option` whose file is one of the inputs.
    pub(crate) fn spare(
        &self,
        option: &str,
        out: Option<&Path>,
        inputs: &[impl AsRef<Path>],
    ) -> Result<(), Failure> {
        overwriting::refuse_corpus(option, out, inputs, self.options())
    }

    /// Finds the files of a corpus.
    pub(crate) fn open(&self, inputs: &[impl AsRef<Path>]) -> Result<Source, Failure> {
        let standard = |input: &&_| AsRef::<Path>::as_ref(*input).as_os_str() == "-";
        if inputs.iter().filter(standard).count() > 1 {
            let text = "INPUT `-` is given more than once: standard input can be read once";
            return Err(Failure::Arguments(text.to_owned()));
        }
        let options = self.options();
        check_fields(inputs, &options, self.threads())?;
        Ok(Source::open(inputs, options)?)
    }

    /// Fingerprints every document: runs `work` on any thread and passes its results to `take` in
    /// order.
    pub(crate) fn signatures<T: Send>(
        &self,
        source: &Source,
        fingerprinter: &Fingerprinter,
        progress: &mut Progress,
        work: impl Fn(AtHand<'_>) -> Result<T, hapax_corpus::Error> + Sync,
        mut take: impl FnMut(T, &mut Progress) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let take = |result| self.taken(result, progress, &mut take);
        each(source, fingerprinter, self.threads(), work, take)
    }

    /// Like [`signatures`](Self::signatures), with workers that the command creates and gets back.
    pub(crate) fn documents<W: Send, T: Send>(
        &self,
        source: &Source,
        threads: NonZeroUsize,
        new: impl Fn() -> W + Sync,
        progress: &mut Progress,
        work: impl Fn(&mut W, &Document<'_>) -> Result<T, hapax_corpus::Error> + Sync,
        mut take: impl FnMut(T, &mut Progress) -> Result<(), Failure>,
    ) -> Result<Vec<W>, Failure> {
        let take = |result| self.taken(result, progress, &mut take);
        each_document(source, threads, new, work, take)
    }

    /// Passes on the result of a document, or skips a bad one.
    fn taken<T>(
        &self,
        result: Result<Result<T, hapax_corpus::Error>, Bad>,
        progress: &mut Progress,
        take: &mut impl FnMut(T, &mut Progress) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match result.and_then(|made| made.map_err(|error| Bad { error, records: 1 })) {
            Ok(made) => take(made, progress),
            Err(bad) if self.skip_bad => {
                progress.skip(&bad);
                Ok(())
            }
            Err(bad) => Err(bad.error.into()),
        }
    }
}

fn input_formats() -> impl TypedValueParser<Value = Format> {
    let all = Format::NAMED.map(|(_, name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(all).try_map(|name| Format::named(&name).ok_or("no such format"))
}

const FIELDS: &str = "Fields of JSONL and columns of Parquet";

/// Which fields of JSON objects, or columns of tables, make a document.
#[derive(Args, Debug)]
struct FieldArguments {
    /// Id of the document [default: id, or the URL, or file and line]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    id_field: Option<String>,

    /// URL of the document [default: url, uri, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    url_field: Option<String>,

    /// The page as HTML [default: html, raw_html, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    html_field: Option<String>,

    /// The page as text [default: text, content, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    text_field: Option<String>,

    /// Score, for the rule `score` [default: score, pagerank, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    score_field: Option<String>,

    /// Time of the fetch, for the rules `earliest` and `latest` [default: fetched, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    fetched_field: Option<String>,

    /// Language, for --scope language [default: language, lang]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    language_field: Option<String>,
}
