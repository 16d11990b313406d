//! Corpora of texts of the synthetic web as JSONL files; a fifth of the texts are near-copies.
//!
//! A corpus depends on its seed, its number of documents and their length; the number of files changes no document.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use hapax_synth::{Language, LanguageMix, Length, Scratch, Web, WebOptions};
use rayon::prelude::*;

pub(crate) struct Texts {
    pub(crate) documents: usize,
    pub(crate) seed: u64,
    /// Number of files.
    pub(crate) files: usize,
    /// Words per document.
    pub(crate) length: Length,
}

impl Texts {
    /// Writes the corpus below `keep` unless it exists; returns its folder.
    pub(crate) fn make(&self, keep: &Path) -> anyhow::Result<PathBuf> {
        let Self { documents, seed, files, length } = *self;
        let words = (length.least, length.most);
        let folder = keep.join(format!("texts-{documents}-{seed}-{files}-{}-{}", words.0, words.1));
        if folder.is_dir() {
            return Ok(folder);
        }
        let options = WebOptions {
            length,
            languages: LanguageMix::only(Language::Latin),
            ..WebOptions::new(seed, documents as u64).with_copy_share(0.2)
        };
        let web = Web::new(options);
        let making = folder.with_extension("making");
        fs::create_dir_all(&making)?;
        let each = documents.div_ceil(files).max(1);
        (0..files).into_par_iter().try_for_each(|file| {
            let (mut text, mut scratch) = (String::new(), Scratch::default());
            let path = making.join(format!("{file:03}.jsonl"));
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
            for index in file * each..((file + 1) * each).min(documents) {
                text.clear();
                web.text_into(index as u64, &mut text, &mut scratch);
                let line = serde_json::json!({ "id": index.to_string(), "text": text });
                writeln!(out, "{line}")?;
            }
            out.into_inner()?.sync_all()?;
            anyhow::Ok(())
        })?;
        fs::rename(making, &folder)?;
        Ok(folder)
    }
}
