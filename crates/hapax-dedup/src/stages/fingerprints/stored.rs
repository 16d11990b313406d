//! Reads fingerprints from `.hpx` files, from segments of version 0.1 with their names, and from bare 8-byte
//! words.

use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::path::Path;

use hapax::fingerprint::Fingerprint;
use hapax::index::segment::SegmentView;
use hapax_corpus::hpx::Hpx;
use hapax_corpus::open_file;
use xxhash_rust::xxh3::xxh3_64;

use super::super::LinesError;
use super::{Listed, Take, read_all};

pub(super) const HPX: &[u8] = b"hapaxHPX";
pub(super) const SEGMENT: &[u8] = b"hapaxSEG";

/// The recipe in a segment whose fingerprints stated none.
const UNSTATED: &str = "unstated:0000000000000000";

/// Reads a `.hpx` file in insertion order; needs 16 bytes per document.
pub(super) fn hpx<E: From<LinesError>>(path: &Path, take: Take<'_, E>) -> Result<(), E> {
    let hpx = Hpx::open(path).map_err(LinesError::Stored)?;
    let recipe = Some(hpx.recipe()).filter(|recipe| !recipe.is_empty());
    let mut lookup = hpx.lookup();
    let mut entries = hpx.entries().map_err(LinesError::Stored)?;
    entries.sort_unstable();
    for (id, bits) in entries {
        let name = lookup.name(id).map_err(LinesError::Stored)?.map(<[u8]>::to_vec);
        let fingerprint = Some(Fingerprint::from_bits(bits));
        take(recipe, Listed { number: id + 1, name, fingerprint, ..Listed::default() })?;
    }
    Ok(())
}

/// Reads a segment in order of ids. Ids are names if there is no file of names.
pub(super) fn segment<E: From<LinesError>>(path: &Path, take: Take<'_, E>) -> Result<(), E> {
    let io = |source| LinesError::Io { line: 0, source };
    let bytes = read_all(&mut open_file(path).map_err(io)?)?;
    let view =
        SegmentView::open(&bytes).map_err(|error| LinesError::foreign(&error.to_string()))?;
    let mut names_path: OsString = path.as_os_str().to_owned();
    names_path.push(".names");
    let names = match open_file(Path::new(&names_path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(io(error).into()),
        Ok(mut file) => {
            let names = names(&read_all(&mut file)?, view.identity());
            let damaged =
                || format!("{}: damaged, or of another index", Path::new(&names_path).display());
            Some(names.ok_or_else(|| LinesError::foreign(&damaged()))?)
        }
    };
    let mut entries = Vec::new();
    view.for_each(|entry| entries.push((entry.id, entry.fingerprint)));
    entries.sort_unstable();
    let recipe = Some(view.recipe()).filter(|recipe| *recipe != UNSTATED);
    for (number, (id, fingerprint)) in (1..).zip(entries) {
        let named = names.as_ref().and_then(|names| names.get(usize::try_from(id).ok()?));
        let name = Some(named.cloned().unwrap_or_else(|| id.to_string().into_bytes()));
        take(recipe, Listed { number, name, fingerprint: Some(fingerprint), ..Listed::default() })?;
    }
    Ok(())
}

/// Parses the names file of a segment: `hapaxNAM`, version 1, identity, count, length of the text,
/// checksum of the body; then the end offset of each name, and the text.
pub(super) fn names(bytes: &[u8], identity: u64) -> Option<Vec<Vec<u8>>> {
    const HEADER: usize = 56;
    let (header, body) = bytes.split_at_checked(HEADER)?;
    let word = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let [of, count, text, checksum] = [16, 24, 32, 40].map(|at| word(header, at));
    let count = usize::try_from(count?).ok()?;
    let length = count.checked_mul(8)?.checked_add(usize::try_from(text?).ok()?)?;
    let sound = header.starts_with(b"hapaxNAM\x01\0\0\0")
        && of? == identity
        && body.len() == length
        && checksum? == xxh3_64(body);
    if !sound {
        return None;
    }
    let (ends, text) = body.split_at(count * 8);
    let mut start = 0;
    let name = |at: usize| {
        let end = usize::try_from(word(ends, at * 8)?).ok()?;
        let name = text.get(start..end)?.to_vec();
        start = end;
        Some(name)
    };
    (0..count).map(name).collect()
}

/// Reads 8 bytes per fingerprint.
pub(super) fn binary<E: From<LinesError>>(
    reader: &mut dyn Read,
    take: Take<'_, E>,
) -> Result<(), E> {
    let bytes = read_all(reader)?;
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        let what = format!(
            "file length {} is not a multiple of 8; leave out --binary for text",
            bytes.len()
        );
        return Err(LinesError::foreign(&what).into());
    }
    for (number, word) in (1..).zip(words) {
        let fingerprint = Some(Fingerprint::from_bits(u64::from_le_bytes(*word)));
        take(None, Listed { number, fingerprint, ..Listed::default() })?;
    }
    Ok(())
}
