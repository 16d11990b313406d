//! Prints the fingerprint of each file named on the command line.
//!
//! `cargo run --release -p hapax --example fingerprint -- page.html`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use hapax::Fingerprinter;
use hapax::page::Hints;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut fingerprinter = Fingerprinter::default();
    for path in std::env::args().skip(1) {
        let signature = fingerprinter.page(&std::fs::read(&path)?, &Hints::default())?;
        match signature.comparable {
            Some(comparable) => println!("{}  {path}", comparable.fingerprint),
            None => println!("no words          {path}"),
        }
    }
    Ok(())
}
