//! Results do not depend on the number of threads.

use std::num::NonZero;

use hapax_corpus::{Entry, Error, Limits, ReadOptions, Source};

use crate::make::{Folder, bzip2, gzip, response, words, xz, zstd};

/// A corpus of many files of different sizes, some of them damaged.
fn corpus(folder: &Folder) -> String {
    for file in 0..12u64 {
        let documents = [3, 400, 20, 150][file as usize % 4];
        let lines: String = (0..documents)
            .map(|n| format!("{{\"id\":\"{file}-{n}\",\"text\":\"{}\"}}\n", words(n, 40)))
            .collect();
        folder.file(&format!("{file:02}.jsonl.zst"), zstd(lines.as_bytes()));
        let records: Vec<u8> = (0..documents / 2)
            .flat_map(|n| gzip(&response(&format!("http://{file}.test/{n}"), &words(n, 60))))
            .collect();
        folder.file(&format!("{file:02}.warc.gz"), records);
        folder.file(&format!("pages/{file:02}.html"), words(file, 30));
    }
    let mut damaged: Vec<u8> = Vec::new();
    for n in 0..40 {
        damaged.extend(gzip(&response(&format!("http://bad.test/{n}"), &words(n, 60))));
    }
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    folder.file("05-damaged.warc.gz", damaged);
    folder.root()
}

fn options(skip_bad: bool) -> ReadOptions {
    let limits = Limits { batch: 10_000, ..Limits::default() };
    ReadOptions { skip_bad, limits, ..ReadOptions::default() }
}

fn run(input: &str, threads: usize, skip_bad: bool) -> (Vec<String>, Option<String>) {
    let source = Source::open(&[input], options(skip_bad)).unwrap();
    let mut seen = Vec::new();
    let result = source.in_order(
        NonZero::new(threads).unwrap(),
        |mut batch| {
            let line = |entry: Result<Entry<'_>, Error>| match entry {
                Ok(Entry::Document(it)) => Ok(format!("{} {:?}", it.id, it.place)),
                Ok(other) => Ok(format!("{other:?}")),
                Err(error) => Err(error.to_string()),
            };
            batch.entries().map(line).collect::<Vec<_>>()
        },
        |lines| {
            for line in lines {
                seen.push(line?);
            }
            Ok::<(), String>(())
        },
    );
    (seen, result.err())
}

#[test]
fn many_threads_give_the_results_of_one() {
    let folder = Folder::new();
    let input = corpus(&folder);
    let (one, error) = run(&input, 1, true);
    assert_eq!(error, None);
    assert!(one.len() > 2000);
    assert_eq!(one.iter().filter(|line| line.starts_with("Bad")).count(), 1);
    for threads in [2, 3, 8, 33] {
        assert!(run(&input, threads, true).0 == one, "{threads} threads");
    }
}

#[test]
fn the_first_error_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    let input = corpus(&folder);
    let (one, error) = run(&input, 1, false);
    assert!(error.as_ref().unwrap().contains("05-damaged.warc.gz"), "{error:?}");
    for threads in [2, 7] {
        assert!(run(&input, threads, false) == (one.clone(), error.clone()), "{threads} threads");
    }
}

#[test]
fn a_receiver_can_stop_early() {
    let folder = Folder::new();
    let source = Source::open(&[corpus(&folder)], options(true)).unwrap();
    let mut received = 0;
    let result = source.in_order(
        NonZero::new(4).unwrap(),
        |_| (),
        |()| {
            received += 1;
            if received == 5 { Err("enough") } else { Ok(()) }
        },
    );
    assert_eq!((result, received), (Err("enough"), 5));
}

#[test]
fn a_worker_that_panics_does_not_leave_the_others_waiting() {
    let folder = Folder::new();
    let source = Source::open(&[corpus(&folder)], options(true)).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        source.in_order(
            NonZero::new(3).unwrap(),
            |batch| assert!(batch.part < 4, "on purpose"),
            |()| Ok::<(), ()>(()),
        )
    }));
    assert!(outcome.is_err());
}

#[test]
fn the_size_of_batches_changes_nothing() {
    let folder = Folder::new();
    let input = corpus(&folder);
    let read = |batch| {
        let limits = Limits { batch, ..Limits::default() };
        let options = ReadOptions { skip_bad: true, limits, ..ReadOptions::default() };
        let source = Source::open(&[&input], options).unwrap();
        let all = crate::make::read_all(&source).unwrap();
        let places: Vec<_> = all.documents.iter().map(|it| it.place).collect();
        (all.ids().iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), places, all.bad)
    };
    let expected = read(1 << 20);
    assert!(read(1) == expected);
    assert!(read(5000) == expected);
}

/// Buffers of finished batches are reused, and their number depends on the threads. Resuming a job
/// relies on the batch boundaries.
#[test]
fn batch_boundaries_do_not_depend_on_how_long_batches_are_held() {
    let folder = Folder::new();
    let lines: String =
        (0..9000).map(|n| format!("{{\"id\":\"{n}\",\"text\":\"{}\"}}\n", words(n, 60))).collect();
    let records: Vec<u8> =
        (0..6000).flat_map(|n| response(&format!("http://host.test/{n}"), &words(n, 60))).collect();
    for (name, plain) in [("pages.jsonl", lines.as_bytes()), ("pages.warc", &records)] {
        let packed = [plain.to_vec(), gzip(plain), zstd(plain), bzip2(plain), xz(plain)];
        for (packing, bytes) in packed.iter().enumerate() {
            let input = folder.file(&format!("{packing}-{name}"), bytes);
            let extents = |hold: usize| {
                let limits = Limits { batch: 10_000, ..Limits::default() };
                let options = ReadOptions { limits, ..ReadOptions::default() };
                let source = Source::open(&[&input], options).unwrap();
                let mut held = Vec::new();
                let mut extents = Vec::new();
                for batch in source.batches() {
                    extents.push(batch.extent());
                    held.push(batch);
                    if held.len() > hold {
                        held.clear();
                    }
                }
                extents
            };
            let expected = extents(0);
            assert!(expected.len() > 20, "{packing}-{name}: {}", expected.len());
            for hold in [1, 3, 17, usize::MAX] {
                assert!(extents(hold) == expected, "{packing}-{name}, {hold} held");
            }
        }
    }
}
