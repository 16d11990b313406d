//! How files that hold many documents are read: formats and field names, for every command that takes them.

use clap::{Args, ValueEnum};
use hapax_corpus::{Fields, Format, ReadOptions};

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

    /// The fields of documents that are named, with the words that name them. Without the page or
    /// text there is no document, which the reader says.
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
            named: self.named_fields(),
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
