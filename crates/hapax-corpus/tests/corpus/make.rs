//! Makes fixtures and reads them.

use std::io::Write;
use std::path::{Path, PathBuf};

use hapax_corpus::{Document, Entry, Error, Fact, ReadOptions, Reason, Source};
use tempfile::TempDir;

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and returns its path as an input.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn root(&self) -> String {
        self.0.path().to_str().unwrap().to_owned()
    }
}

/// The contents of a corpus, in order and owned.
#[derive(Debug, Default)]
pub(crate) struct Everything {
    pub(crate) documents: Vec<Document<'static>>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) passed: Vec<Reason>,
    pub(crate) bad: Vec<String>,
}

impl Everything {
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.documents.iter().map(|document| &*document.id).collect()
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        let text =
            |it: &Document<'_>| String::from_utf8_lossy(it.body.content.as_bytes()).into_owned();
        self.documents.iter().map(text).collect()
    }
}

pub(crate) fn read_all(source: &Source) -> Result<Everything, Error> {
    let mut all = Everything::default();
    for mut batch in source.batches() {
        for entry in batch.entries() {
            match entry? {
                Entry::Document(document) => all.documents.push(document.into_owned()),
                Entry::Fact(fact) => all.facts.push(fact),
                Entry::Passed { reason, .. } => all.passed.push(reason),
                Entry::Bad(error) => all.bad.push(error.to_string()),
            }
        }
    }
    Ok(all)
}

pub(crate) fn read(input: &str, options: ReadOptions) -> Result<Everything, Error> {
    read_all(&Source::open(&[input], options).unwrap())
}

pub(crate) fn read_well(input: &str) -> Everything {
    read(input, ReadOptions::default()).unwrap()
}

pub(crate) fn skipping() -> ReadOptions {
    ReadOptions { skip_bad: true, ..ReadOptions::default() }
}

/// The error that ends reading.
pub(crate) fn failure(input: &str, options: ReadOptions) -> String {
    read(input, options).unwrap_err().to_string()
}

pub(crate) fn warc(kind: &str, url: &str, more: &str, block: &[u8]) -> Vec<u8> {
    let mut record = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n\
         WARC-Date: 2020-02-03T04:05:06Z\r\nWARC-Record-ID: <urn:uuid:{url}>\r\n{more}\
         Content-Length: {}\r\n\r\n",
        block.len()
    )
    .into_bytes();
    record.extend_from_slice(block);
    record.extend_from_slice(b"\r\n\r\n");
    record
}

pub(crate) fn response(url: &str, html: &str) -> Vec<u8> {
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}");
    warc("response", url, "Content-Type: application/http\r\n", block.as_bytes())
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Text that does not compress well, different for every seed.
pub(crate) fn words(seed: u64, count: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for _ in 0..count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&format!("w{:x} ", state % 50_000));
    }
    text
}

pub(crate) fn hidden_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.filter(|it| it.as_ref().unwrap().file_name().to_str().unwrap().starts_with('.')).count()
}
