//! Compares the time of reading documents with that of unpacking the file, on one thread.
//!
//! `cargo run --release -p hapax-corpus --example throughput -- FILE...` prints, for each file, MB of unpacked
//! bytes per second for both, best of three, and the ratio. `.gz` and `.zst` only. Measures CPU time of this
//! thread where the system reports it (Linux), so that other load does not count, and wall time elsewhere. CPU
//! time has a coarse resolution, so a file should unpack to 50 MB or more.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::time::Instant;

use hapax_corpus::{ReadOptions, Source};

type Outcome = Result<(u64, u64), Box<dyn std::error::Error>>;

fn best(run: impl Fn() -> Outcome) -> Result<((u64, u64), f64), Box<dyn std::error::Error>> {
    let mut fastest = f64::MAX;
    let mut answer = (0, 0);
    for round in 0..3 {
        let (start, worked) = (Instant::now(), processor_seconds());
        let found = run()?;
        let seconds = match (worked, processor_seconds()) {
            (Some(before), Some(after)) => after - before,
            _ => start.elapsed().as_secs_f64(),
        };
        fastest = fastest.min(seconds);
        assert!(round == 0 || found == answer, "the same file gives the same answer");
        answer = found;
    }
    Ok((answer, fastest))
}

/// CPU time of this thread in seconds.
fn processor_seconds() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = statistics.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

fn unpack(path: &str) -> Outcome {
    let file = BufReader::with_capacity(256 << 10, File::open(path)?);
    let mut reader: Box<dyn Read> = if path.ends_with(".gz") {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else {
        Box::new(zstd::stream::read::Decoder::with_buffer(file)?)
    };
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((bytes, 0)),
            Ok(count) => bytes += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn read(path: &str) -> Outcome {
    let source = Source::open(&[path], ReadOptions::default())?;
    let (mut documents, mut bytes) = (0, 0);
    for mut batch in source.batches() {
        for document in batch.documents() {
            documents += 1;
            bytes += document?.body.content.as_bytes().len() as u64;
        }
    }
    Ok((documents, bytes))
}

/// Finds the records without decoding them.
fn frame(path: &str) -> Outcome {
    let source = Source::open(&[path], ReadOptions::default())?;
    Ok((source.batches().count() as u64, 0))
}

#[expect(clippy::print_stdout, reason = "an example shows its answer")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("unpack MB/s  frame MB/s  read MB/s  unpack/read  documents  file");
    for path in std::env::args().skip(1) {
        let ((unpacked, _), unpack_time) = best(|| unpack(&path))?;
        let (_, frame_time) = best(|| frame(&path))?;
        let ((documents, _), read_time) = best(|| read(&path))?;
        let speed = |time: f64| unpacked as f64 / 1e6 / time;
        println!(
            "{:11.0}  {:10.0}  {:9.0}  {:11.2}  {documents:9}  {path}",
            speed(unpack_time),
            speed(frame_time),
            speed(read_time),
            read_time / unpack_time
        );
    }
    Ok(())
}
