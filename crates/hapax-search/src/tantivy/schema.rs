//! The fields of a page in the index.
//!
//! | field | how | for |
//! |---|---|---|
//! | `name` | term, column | replacing and deleting; the order of equal scores |
//! | `title`, `body`, `address` | words with positions, not stored | searching |
//! | `site`, `language` | terms | `site:` with every domain above the host, `lang:` |
//! | `url` | column, only if different from the name | facts |
//! | `fingerprint`, `sketch`, `content` | columns of 64-bit numbers: 1, 16 and 2 per page | dedup |
//! | `score`, `words`, `fetched` | columns | the rules that choose the kept copy |
//! | `shown` | stored: title, beginning of the text, language | lists of results |

use std::path::Path;

use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{Index, TantivyDocument};

use super::error::Error;
use super::files::check_managed;
use crate::page::{SearchPage, domains};
use crate::words::Words;

const TOKENIZER: &str = "hapax";

/// The field numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) name: Field,
    pub(super) title: Field,
    pub(super) body: Field,
    pub(super) address: Field,
    pub(super) site: Field,
    pub(super) language: Field,
    url: Field,
    fingerprint: Field,
    sketch: Field,
    content: Field,
    score: Field,
    words: Field,
    fetched: Field,
    pub(super) shown: Field,
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let searched = |option| {
        let indexing =
            TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(option);
        TextOptions::default().set_indexing_options(indexing)
    };
    let placed = searched(IndexRecordOption::WithFreqsAndPositions);
    let fields = Fields {
        name: builder.add_text_field("name", STRING | FAST),
        title: builder.add_text_field("title", placed.clone()),
        body: builder.add_text_field("body", placed.clone()),
        address: builder.add_text_field("address", placed),
        site: builder.add_text_field("site", STRING),
        language: builder.add_text_field("language", STRING),
        url: builder.add_text_field("url", FAST),
        fingerprint: builder.add_u64_field("fingerprint", FAST),
        sketch: builder.add_u64_field("sketch", FAST),
        content: builder.add_u64_field("content", FAST),
        score: builder.add_f64_field("score", FAST),
        words: builder.add_u64_field("words", FAST),
        fetched: builder.add_u64_field("fetched", FAST),
        shown: builder.add_text_field("shown", STORED),
    };
    (builder.build(), fields)
}

/// Creates an empty index in an existing folder.
pub(super) fn create(path: &Path) -> Result<(Index, Fields), Error> {
    let (schema, fields) = schema();
    let index =
        Index::create_in_dir(path, schema).map_err(|source| Error::tantivy(path, source))?;
    register(&index);
    Ok((index, fields))
}

/// Opens the index in a folder.
pub(super) fn open(path: &Path) -> Result<(Index, Fields), Error> {
    check_managed(path)?;
    let index = Index::open_in_dir(path).map_err(|source| Error::tantivy(path, source))?;
    let (expected, fields) = schema();
    if index.schema() != expected {
        let what = "its fields are not those that its format has".to_owned();
        return Err(Error::Damaged { path: path.join("meta.json"), what });
    }
    register(&index);
    Ok((index, fields))
}

fn register(index: &Index) {
    index.tokenizers().register(TOKENIZER, TextAnalyzer::from(PageTokenizer::default()));
}

impl Fields {
    /// A page as a Tantivy document.
    pub(super) fn document(&self, page: &SearchPage) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_text(self.name, &page.name);
        document.add_text(self.title, &page.title);
        document.add_text(self.body, &page.body);
        document.add_text(self.address, page.address_words());
        for domain in domains(&page.host()) {
            document.add_text(self.site, domain);
        }
        if !page.language.is_empty() {
            document.add_text(self.language, page.language_code());
        }
        if page.url != page.name {
            document.add_text(self.url, &page.url);
        }
        if let Some(fingerprint) = page.fingerprint {
            document.add_u64(self.fingerprint, fingerprint.to_bits());
        }
        for word in page.sketch.iter().flat_map(|sketch| numbers(&sketch.to_bytes())) {
            document.add_u64(self.sketch, word);
        }
        for word in numbers(&page.content.to_bytes()) {
            document.add_u64(self.content, word);
        }
        if let Some(score) = page.score {
            document.add_f64(self.score, score);
        }
        document.add_u64(self.words, u64::from(page.words));
        if let Some(fetched) = page.fetched {
            document.add_u64(self.fetched, fetched);
        }
        for shown in [&page.title, page.start(), &page.language] {
            document.add_text(self.shown, shown);
        }
        document
    }
}

/// Bytes as little-endian numbers.
fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect()
}

/// Splits a page into words for Tantivy.
#[derive(Clone, Default)]
struct PageTokenizer {
    words: Words,
}

impl Tokenizer for PageTokenizer {
    type TokenStream<'a> = PageTokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PageTokens {
        let mut tokens = PageTokens::default();
        self.words.of_page(text, |position, word| {
            tokens.text.push_str(word);
            tokens.ends.push((position, tokens.text.len()));
        });
        tokens
    }
}

/// All words of one text, concatenated.
#[derive(Default)]
struct PageTokens {
    text: String,
    ends: Vec<(u32, usize)>,
    at: usize,
    from: usize,
    token: Token,
}

impl TokenStream for PageTokens {
    fn advance(&mut self) -> bool {
        let Some(&(position, end)) = self.ends.get(self.at) else { return false };
        self.at += 1;
        self.token.text.clear();
        self.token.text.push_str(&self.text[self.from..end]);
        self.token.position = position as usize;
        self.from = end;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
