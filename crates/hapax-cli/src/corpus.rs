//! How files that hold many documents are read: formats and field names, for every command that takes them.

use crate::failure::Failure;
use crate::readable;
use clap::{Args, ValueEnum};
use hapax_corpus::{Fields, Format, ReadOptions};

/// What the library says where passing over damage would help.
const WAY_OUT: &str = "; `skip_bad` counts and passes it";

/// Why a corpus could not be read. The libraries speak of options, a user has flags.
pub(crate) fn failure(error: impl Into<anyhow::Error>) -> Failure {
    let mut text = Failure::Run(error.into()).to_string();
    if let Some((said, limit)) = text.split_once("; raise limits.")
        && limit.ends_with("so long")
    {
        text = format!("{said}{WAY_OUT}");
    }
    Failure::Run(anyhow::anyhow!(text.replace("`skip_bad`", "--skip-bad")))
}

/// Why something was passed over, without the advice to do so.
pub(crate) fn skipped(why: &hapax_corpus::Error) -> String {
    let why = why.to_string();
    readable::harmless(why.strip_suffix(WAY_OUT).unwrap_or(&why)).into_owned()
}

/// What a user can say about a corpus.
#[derive(Args, Debug)]
pub(crate) struct CorpusArguments {
    /// Read inputs as this format [default: by their first bytes, then by name]
    #[arg(long, value_name = "FORMAT", value_enum)]
    input_format: Option<InputFormat>,

    /// Take answers with an HTTP error status for documents, too
    #[arg(long)]
    error_pages: bool,

    #[command(flatten)]
    fields: FieldArguments,
}

impl CorpusArguments {
    /// Is something said that only a corpus can be meant by?
    pub(crate) fn any(&self) -> bool {
        let FieldArguments {
            id_field,
            url_field,
            html_field,
            text_field,
            score_field,
            fetched_field,
            language_field,
        } = &self.fields;
        let fields = [id_field, url_field, html_field, text_field, score_field, fetched_field];
        self.input_format.is_some()
            || self.error_pages
            || language_field.is_some()
            || fields.iter().any(|field| field.is_some())
    }

    /// All of it for the reader.
    pub(crate) fn read_options(&self, skip_bad: bool) -> ReadOptions {
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
            format: self.input_format.map(Format::from),
            keep_error_pages: self.error_pages,
            skip_bad,
            ..ReadOptions::default()
        }
    }
}

/// A format of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InputFormat {
    /// WARC and WET
    Warc,
    /// ARC
    Arc,
    /// A JSON object a line
    Jsonl,
    /// Parquet
    Parquet,
    /// Every file is a page
    Html,
    /// Every file is a text
    Text,
    /// Every line is a text
    Lines,
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Warc => Self::Warc,
            InputFormat::Arc => Self::Arc,
            InputFormat::Jsonl => Self::Jsonl,
            InputFormat::Parquet => Self::Parquet,
            InputFormat::Html => Self::Html,
            InputFormat::Text => Self::Text,
            InputFormat::Lines => Self::Lines,
        }
    }
}

/// A heading of help.
const FIELDS: &str = "Fields of JSONL and columns of Parquet";

/// Which fields of JSON objects, or columns of tables, make a document.
#[derive(Args, Debug)]
struct FieldArguments {
    /// What the document is called [default: id, or the URL, or file and line]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    id_field: Option<String>,

    /// Where it comes from [default: url, uri, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    url_field: Option<String>,

    /// The page as HTML [default: html, raw_html, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    html_field: Option<String>,

    /// The page as text [default: text, content, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    text_field: Option<String>,

    /// How much it is worth, for the rule `score` [default: score, pagerank, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    score_field: Option<String>,

    /// When it was fetched, for the rules `earliest` and `latest` [default: fetched, date, ...]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    fetched_field: Option<String>,

    /// Its language, for --scope language [default: language, lang]
    #[arg(long, value_name = "NAME", help_heading = FIELDS)]
    language_field: Option<String>,
}
