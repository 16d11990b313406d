//! Copies a corpus into one file of any format:
//! `cargo run --release -p hapax-corpus --example copy -- INPUT... OUTPUT`

use std::path::Path;

use hapax_corpus::{Error, ReadOptions, Source, write};

#[expect(clippy::print_stdout, reason = "an example shows its answer")]
fn main() -> Result<(), Error> {
    let mut inputs: Vec<String> = std::env::args().skip(1).collect();
    let output = inputs.pop().unwrap_or_default();
    let source = Source::open(&inputs, ReadOptions::default())?;
    let mut writer = write::create(Path::new(&output), Some(&source))?;
    for mut batch in source.batches() {
        for document in batch.documents() {
            writer.write(&document?)?;
        }
    }
    println!("{:?}", writer.finish()?);
    Ok(())
}
