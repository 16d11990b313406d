//! Writes a slice of a synthetic web as JSON lines (`id`, `url`, `html`), and its truth as a table.
//!
//! ```console
//! $ cargo run --release -p hapax-synth --example write_web -- SEED PAGES [FIRST..LAST] [TRUTH.tsv]
//! ```
//!
//! Numbers run from FIRST up to but excluding LAST; the default is all pages. The truth has a line per page: number,
//! family, copy, kind of edit, amount, language, words, expected jaccard5 of the content (`-` if unknown).

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::ops::Range;
use std::process::ExitCode;

use hapax_synth::{Page, Scratch, Truth, Web, WebOptions};

const USAGE: &str = "usage: write_web SEED PAGES [FIRST..LAST] [TRUTH.tsv]";

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let closed = error
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe);
            if closed {
                return ExitCode::SUCCESS;
            }
            let _ = writeln!(io::stderr(), "{error}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), Box<dyn Error>> {
    let [seed, pages, rest @ ..] = arguments.as_slice() else {
        return Err("SEED and PAGES are needed".into());
    };
    let web = Web::new(WebOptions::new(seed.parse()?, pages.parse()?));
    let range = rest.first().map_or(Ok(0..web.len()), |text| parse_range(text, web.len()))?;
    let mut truth = match rest.get(1) {
        Some(path) => Some(BufWriter::new(
            File::create(path).map_err(|error| format!("cannot create {path}: {error}"))?,
        )),
        None => None,
    };
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let (mut page, mut scratch, mut line) = (Page::default(), Scratch::default(), String::new());
    for index in range {
        web.page_into(index, &mut page, &mut scratch);
        line.clear();
        line.push_str("{\"id\":\"");
        line.push_str(&index.to_string());
        line.push_str("\",\"url\":");
        push_json(&page.url, &mut line);
        line.push_str(",\"html\":");
        push_json(&page.html, &mut line);
        line.push_str("}\n");
        out.write_all(line.as_bytes())?;
        if let Some(truth) = &mut truth {
            write_truth(index, &page.truth, truth)?;
        }
    }
    if let Some(mut truth) = truth {
        truth.flush()?;
    }
    Ok(out.flush()?)
}

fn parse_range(text: &str, pages: u64) -> Result<Range<u64>, Box<dyn Error>> {
    let (first, last) = text.split_once("..").ok_or(format!("{text} is not FIRST..LAST"))?;
    let (first, last): (u64, u64) = (first.parse()?, last.parse()?);
    if first > last || last > pages {
        return Err(format!("{text} is not within 0..{pages}").into());
    }
    Ok(first..last)
}

fn write_truth(index: u64, truth: &Truth, out: &mut impl Write) -> io::Result<()> {
    let Truth { family, copy, kind, amount, language, words } = truth;
    let (kind, language) = (kind.name(), language.tag());
    write!(out, "{index}\t{family}\t{copy}\t{kind}\t{amount:.4}\t{language}\t{words}\t")?;
    match truth.expected_jaccard5() {
        Some(expected) => writeln!(out, "{expected:.3}"),
        None => writeln!(out, "-"),
    }
}

fn push_json(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
