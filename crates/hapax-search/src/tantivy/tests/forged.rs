//! Forged files: false contents with valid checksums.
//!
//! Each of these once aborted the process, by allocating memory, by a panic in a thread of Tantivy, or by
//! nested lists. Now the file is refused, or the page or commit that needs it fails.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::*;
use super::hostile::{everything, replace};
use super::{build, few};

/// The checksum of Tantivy's files, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum: u32, _| {
            sum >> 1 ^ if sum & 1 == 0 { 0 } else { 0xedb8_8320 }
        })
    })
}

/// A segment file without its footer, and the footer.
fn parts(file: &[u8]) -> (&[u8], serde_json::Value) {
    let (rest, about) = file.split_at(file.len() - 8);
    let length = u32::from_le_bytes(*about.first_chunk().unwrap()) as usize;
    let (body, footer) = rest.split_at(rest.len() - length);
    (body, serde_json::from_slice(footer).unwrap())
}

/// Writes a valid file with these contents.
fn forge(path: &Path, body: &[u8]) {
    let (_, mut footer) = {
        let sound = fs::read(path).unwrap();
        let (body, footer) = parts(&sound);
        (body.to_vec(), footer)
    };
    footer["crc"] = crc32(body).into();
    let footer = serde_json::to_vec(&footer).unwrap();
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    replace(path, &[body, &footer, &length, &1337u32.to_le_bytes()].concat());
}

/// An index of one segment, its folder, and the contents of a file.
struct Forger {
    index: PathBuf,
    file: PathBuf,
    body: Vec<u8>,
    _place: tempfile::TempDir,
}

impl Forger {
    fn of(ending: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        drop(build(&place, &few()));
        let index = place.path().join("index");
        Writer::open(&index, super::options()).unwrap().compact().unwrap();
        let mut files = fs::read_dir(&index).unwrap().map(|file| file.unwrap().path());
        let file = files.find(|it| it.extension().is_some_and(|it| it == ending)).unwrap();
        let body = parts(&fs::read(&file).unwrap()).0.to_vec();
        let forger = Self { index, file, body, _place: place };
        forge(&forger.file, &forger.body);
        everything(&forger.index).unwrap();
        forger
    }

    /// The errors of opening it for reading and for changes with this body in the file.
    fn refusals(&self, body: &[u8]) -> [String; 2] {
        forge(&self.file, body);
        let read = TantivyIndex::open(&self.index).unwrap_err();
        let changed = Writer::open(&self.index, WriterOptions::smallest()).unwrap_err();
        assert!(matches!(read, Error::Damaged { .. }), "{read}");
        [read.to_string(), changed.to_string()]
    }

    /// Performs all operations on an index; they must succeed or return an error.
    fn change_everything(&self) -> Result<(), Error> {
        let mut writer = Writer::open(&self.index, WriterOptions::smallest())?;
        for page in &few() {
            writer.put(page)?;
        }
        writer.delete("http://c.test/cat");
        writer.commit()?;
        writer.compact()?;
        everything(&self.index)
    }
}

/// A number in Tantivy's encoding.
fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8);
        number >>= 7;
    }
    bytes.push(number as u8 | 0x80);
    bytes
}

/// A `.store` of one block with this claimed uncompressed size.
fn store(packed: &[u8], claimed: usize, documents: u64) -> Vec<u8> {
    let mut block = u32::try_from(claimed).unwrap().to_le_bytes().to_vec();
    block.extend_from_slice(packed);
    let of_layer = [1, 0, 0, documents, block.len() as u64].map(number).concat();
    let index = [number(1), number(of_layer.len() as u64), of_layer].concat();
    let end =
        [&2u32.to_le_bytes()[..], &(block.len() as u64).to_le_bytes(), &[1], &[0; 15]].concat();
    [block, index, end].concat()
}

/// LZ4 without any compression.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0xf0];
    let mut left = bytes.len() - 15;
    while left >= 255 {
        packed.push(255);
        left -= 255;
    }
    packed.push(left as u8);
    [&packed, bytes].concat()
}

#[test]
fn lengths_of_stored_texts_are_checked_before_allocation() {
    let forger = Forger::of("store");
    let sound = &forger.body;
    let blocks = u64::from_le_bytes(*sound[sound.len() - 24..].first_chunk().unwrap()) as usize;
    let with = |at: usize, bytes: &[u8]| {
        let mut body = sound.clone();
        body.splice(at..at + bytes.len().min(4), bytes.iter().copied());
        body
    };
    for (what, body) in [
        ("made up", with(blocks, &number(1 << 40))),
        ("made up", with(blocks, &number(u64::MAX))),
        ("than it can be", with(0, &u32::MAX.to_le_bytes())),
        ("than it can be", with(0, &(600u32 << 20).to_le_bytes())),
        ("another version", with(sound.len() - 28, &9u32.to_le_bytes())),
        ("behind its end", with(sound.len() - 24, &u32::MAX.to_le_bytes())),
        ("another way", with(sound.len() - 16, &[9, 0, 0, 0])),
        ("other documents", store(&packed(&[0; 40]), 40, 5)),
        ("cut off", Vec::new()),
    ] {
        for printed in forger.refusals(&body) {
            assert!(printed.contains(what), "{what}: {printed}");
        }
    }
}

#[test]
fn stored_texts_cannot_exhaust_memory_or_stack() {
    let forger = Forger::of("store");
    let documents = few().len();
    let field = schema::open(&forger.index).unwrap().1.shown.field_id().to_le_bytes();
    let text = |claimed: u64| [&number(1)[..], &field, &[0], &number(claimed), b"abc"].concat();
    // Nested lists.
    let lists: Vec<u8> = [number(1), field.to_vec(), [12, 0x81].repeat(1 << 20)].concat();
    let arrays = [number(1), field.to_vec(), vec![4], number(1 << 40)].concat();
    for document in [text(1 << 40), text(u64::MAX), number(1 << 60), lists, arrays] {
        // All documents of the block are this one; the starts and their number follow.
        let mut block = document.clone();
        for _ in 0..documents {
            block.extend_from_slice(&0u32.to_le_bytes());
        }
        block.extend_from_slice(&u32::try_from(documents).unwrap().to_le_bytes());
        let end = block.len() - 4 * (documents + 1);
        for at in 1..documents {
            let place = end + 4 * at;
            block[place..place + 4].copy_from_slice(&u32::try_from(end).unwrap().to_le_bytes());
        }
        forge(&forger.file, &store(&packed(&block), block.len(), documents as u64));
        let index = TantivyIndex::open(&forger.index).unwrap();
        let refused = index.excerpts(&[DocumentId(0)]).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
        // The facts are stored elsewhere.
        assert_eq!(index.facts(&[DocumentId(0)]).unwrap()[0].name, "http://a.test/1");
    }
    // A valid block made in the same way is shown.
    let fine = [&number(1)[..], &field, &[0], &number(3), b"abc"].concat();
    let mut block = fine.repeat(documents);
    for at in 0..documents {
        block.extend_from_slice(&u32::try_from(at * fine.len()).unwrap().to_le_bytes());
    }
    block.extend_from_slice(&u32::try_from(documents).unwrap().to_le_bytes());
    forge(&forger.file, &store(&packed(&block), block.len(), documents as u64));
    let index = TantivyIndex::open(&forger.index).unwrap();
    assert_eq!(index.excerpts(&[DocumentId(2)]).unwrap()[0].title, "abc");
}

#[test]
fn columns_cannot_claim_more_texts_than_documents() {
    let forger = Forger::of("fast");
    let mut printed = 0;
    for at in 0..forger.body.len() - 8 {
        let mut body = forger.body.clone();
        body[at] = 0x7f;
        forge(&forger.file, &body);
        for result in [
            TantivyIndex::open(&forger.index).map(drop),
            Writer::open(&forger.index, WriterOptions::smallest()).map(drop),
        ] {
            printed += usize::from(result.is_err_and(|it| it.to_string().contains("it claims")));
        }
    }
    assert!(printed > 4, "{printed}");
}

#[test]
fn the_list_of_columns_is_checked_before_allocation() {
    let forger = Forger::of("fast");
    let sound = &forger.body;
    let end = sound.len() - 20;
    let list = end - u64::from_le_bytes(*sound[end..].first_chunk().unwrap()) as usize;
    let with = |at: usize, bytes: &[u8]| {
        let mut body = sound.clone();
        body[at..at + bytes.len()].copy_from_slice(bytes);
        body
    };
    for body in [
        // The number of columns: after the length of the block and its compression.
        with(list + 5, &[&[0xff; 8][..], &[0x7f]].concat()),
        with(list + 5, &[0xff, 0x7f]),
        with(list, &u32::MAX.to_le_bytes()),
        // A version whose index is read without checks.
        with(end - 4, &2u32.to_le_bytes()),
        with(end, &u64::MAX.to_le_bytes()),
        with(end + 8, &u32::MAX.to_le_bytes()),
    ] {
        for printed in forger.refusals(&body) {
            assert!(printed.contains("its list of columns is made up"), "{printed}");
        }
    }
}

/// Names are looked up, and segments merged, in threads of Tantivy.
#[test]
fn changing_a_forged_index_succeeds_or_is_refused_without_aborting() {
    let forger = Forger::of("term");
    let mut sound: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(&forger.index)
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    sound.sort();
    let (mut tried, mut refused) = (0, 0);
    for (path, bytes) in &sound {
        let checked = path.extension().is_some_and(|it| it != "json" && it != "lock");
        let sound_body = if checked { parts(bytes).0 } else { &bytes[..] };
        for at in (0..sound_body.len()).step_by((sound_body.len() / 14).max(1)) {
            let mut body = sound_body.to_vec();
            let end = (at + 4).min(body.len());
            body[at..end].fill(0xff);
            if checked {
                forge(path, &body)
            } else {
                replace(path, &body)
            }
            tried += 1;
            refused += usize::from(forger.change_everything().is_err());
            fs::read_dir(&forger.index)
                .unwrap()
                .for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
            sound.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        }
    }
    assert!(refused * 3 > tried, "{refused} of {tried}");
    forger.change_everything().unwrap();
}
