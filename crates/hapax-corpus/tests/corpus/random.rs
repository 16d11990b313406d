//! Random and randomly damaged bytes: no panics, no endless loops, no invented content.

use hapax_corpus::{Format, Limits, ReadOptions, Source};
use proptest::prelude::*;

use crate::make::{gzip, read_all, response, words, zstd};

fn read(bytes: Vec<u8>, format: Option<Format>, batch: usize) -> crate::make::Everything {
    let limits = Limits {
        header: 4096,
        record: 64 << 10,
        line: 64 << 10,
        body: 64 << 10,
        unpacked: 4 << 20,
        passed: 1 << 20,
        batch,
    };
    let options = ReadOptions { skip_bad: true, format, limits, ..ReadOptions::default() };
    read_all(&Source::from_reader("random", std::io::Cursor::new(bytes), options)).unwrap()
}

/// Fragments with a meaning to parsers, so that random bytes get past the first test.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"WARC/1.0\r\n".to_vec()),
        2 => Just(b"WARC-Type: response\r\n".to_vec()),
        2 => Just(b"WARC-Type: revisit\n".to_vec()),
        2 => Just(b"WARC-Target-URI: http://a.test/\r\n".to_vec()),
        3 => (0u32..40).prop_map(|n| format!("Content-Length: {n}\r\n").into_bytes()),
        1 => any::<u64>().prop_map(|n| format!("Content-Length: {n}\r\n").into_bytes()),
        4 => Just(b"\r\n".to_vec()),
        2 => Just(b"\n".to_vec()),
        1 => Just(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello".to_vec()),
        1 => Just(b"HTTP/1.1 301 X\r\nLocation: //b\r\n\r\n".to_vec()),
        1 => Just(b"http://a.test/ 1.2.3.4 20080509190241 text/html 12\n".to_vec()),
        1 => Just(b"filedesc://x 0.0.0.0 20080509190241 text/plain 0\n".to_vec()),
        1 => Just(b"{\"text\":\"x\"}\n".to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..30),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn formats() -> impl Strategy<Value = Option<Format>> {
    prop_oneof![
        Just(None),
        Just(Some(Format::Warc)),
        Just(Some(Format::Arc)),
        Just(Some(Format::Jsonl)),
        Just(Some(Format::Lines)),
    ]
}

proptest! {
    #[test]
    fn reading_any_bytes_ends(bytes in pieces(), format in formats(), batch in 1usize..300) {
        for packed in [bytes.clone(), gzip(&bytes), zstd(&bytes)] {
            let all = read(packed, format, batch);
            let entries = all.documents.len() + all.facts.len() + all.passed.len() + all.bad.len();
            prop_assert!(entries <= bytes.len() + 2);
        }
    }

    #[test]
    fn reading_warc_after_any_bytes_ends(bytes in pieces()) {
        let mut archive = response("http://a.test/first", "x");
        archive.extend_from_slice(&bytes);
        archive.extend_from_slice(b"\r\n");
        archive.extend_from_slice(&response("http://a.test/last", "y"));
        let all = read(archive, Some(Format::Warc), 200);
        prop_assert_eq!(all.ids().first().copied(), Some("http://a.test/first"));
    }

    /// With one byte changed, every document is either unchanged or reported.
    #[test]
    fn a_changed_byte_in_gzip_is_never_taken_for_content(
        at in any::<prop::sample::Index>(),
        change in 1u8..,
    ) {
        let bodies: Vec<String> = (0..8).map(|n| words(n, 40)).collect();
        let mut bytes: Vec<u8> = Vec::new();
        for (n, body) in bodies.iter().enumerate() {
            bytes.extend(gzip(&response(&format!("http://a.test/{n}"), body)));
        }
        // Changing the first bytes would make it another kind of file.
        let at = 4 + at.index(bytes.len() - 4);
        bytes[at] ^= change;
        let all = read(bytes, Some(Format::Warc), 500);
        for (id, body) in all.ids().iter().zip(all.bodies()) {
            let n: usize = id.rsplit('/').next().unwrap().parse().unwrap();
            prop_assert_eq!(&body, &bodies[n]);
        }
        prop_assert!(all.documents.len() == 8 || !all.bad.is_empty());
        // A stream is not seekable, so a broken member may take the next with it.
        prop_assert!(all.documents.len() >= 5, "{} left: {:?}", all.documents.len(), all.bad);
    }

    #[test]
    fn a_cut_anywhere_is_reported(cut in any::<prop::sample::Index>()) {
        let members: Vec<Vec<u8>> =
            (0..6).map(|n| gzip(&response(&format!("http://a.test/{n}"), "body"))).collect();
        let bytes = members.concat();
        let cut = 40 + cut.index(bytes.len() - 40);
        let mut whole = 0;
        let mut end = 0;
        while end + members[whole].len() <= cut {
            end += members[whole].len();
            whole += 1;
        }
        let all = read(bytes[..cut].to_vec(), Some(Format::Warc), 500);
        prop_assert_eq!(all.documents.len(), whole);
        prop_assert_eq!(all.bad.len(), usize::from(cut > end));
    }
}
