//! An archived HTTP response: status, header, and decoded body.
//!
//! Archives are inconsistent: some keep chunks and content encodings as transferred, some decode them but keep
//! the header lines, some truncate bodies. So an encoding is decoded only if the bytes have it, and a truncated
//! body is kept as far as it goes. Refuses only bodies that unpack to more than the limit.
//!
//! Formats: RFC 9110 and 9112; gzip, deflate (zlib or raw), br, zstd.

use std::borrow::Cow;
use std::io::Read;

use super::headers::{Headers, header_length};

/// A response with its encoded body.
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) headers: Headers<'a>,
    /// Length of the header, including the empty line.
    pub(crate) header: usize,
    body: &'a [u8],
}

/// The body unpacks to more than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BodyTooLong;

impl<'a> Response<'a> {
    /// `None` if the block does not begin like a response.
    pub(crate) fn parse(block: &'a [u8], longest_header: usize) -> Option<Self> {
        if !block.get(..5)?.eq_ignore_ascii_case(b"HTTP/") {
            return None;
        }
        let line = block[..block.len().min(64)].split(|byte| *byte == b'\n').next()?;
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let status = std::str::from_utf8(words.nth(1)?).ok()?.parse().ok()?;
        let visible = &block[..block.len().min(longest_header)];
        // A response truncated inside its header has an empty body.
        let header = header_length(visible).unwrap_or(visible.len());
        let headers = Headers::after_first_line(&block[..header]);
        Some(Self { status, headers, header, body: &block[header..] })
    }

    /// The body without chunks and encodings.
    pub(crate) fn decoded_body(&self, limit: usize) -> Result<Cow<'a, [u8]>, BodyTooLong> {
        let mut body = Cow::Borrowed(self.body);
        let transfer = self.headers.get("Transfer-Encoding").unwrap_or_default();
        for coding in transfer.rsplit(',').map(str::trim) {
            if coding.eq_ignore_ascii_case("chunked") {
                if let Some(joined) = join_chunks(&body) {
                    body = Cow::Owned(joined);
                }
            } else {
                body = undo(coding, body, limit)?;
            }
        }
        let content = self.headers.get("Content-Encoding").unwrap_or_default();
        for coding in content.rsplit(',').map(str::trim) {
            body = undo(coding, body, limit)?;
        }
        if body.len() > limit { Err(BodyTooLong) } else { Ok(body) }
    }
}

/// `None` if the bytes are not chunked. Truncated chunks give the available data.
fn join_chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::with_capacity(bytes.len());
    let mut first = true;
    loop {
        let Some((size, after)) = chunk_size(bytes) else {
            return if first { None } else { Some(joined) };
        };
        first = false;
        if size == 0 {
            return Some(joined);
        }
        let Some(chunk) = after.get(..size) else {
            joined.extend_from_slice(after);
            return Some(joined);
        };
        joined.extend_from_slice(chunk);
        let rest = &after[size..];
        bytes = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
    }
}

/// `1a2b;extension CRLF` and the rest.
fn chunk_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(256)])?;
    let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    // `from_str_radix` accepts a sign, chunks do not have one.
    let digits = digits.chars().all(|digit| digit.is_ascii_hexdigit()).then_some(digits)?;
    Some((usize::from_str_radix(digits, 16).ok()?, &bytes[end + 1..]))
}

fn undo<'a>(coding: &str, body: Cow<'a, [u8]>, limit: usize) -> Result<Cow<'a, [u8]>, BodyTooLong> {
    let bytes: &[u8] = &body;
    let decoded = match coding.to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" if bytes.starts_with(&[0x1f, 0x8b]) => {
            read_all(flate2::read::MultiGzDecoder::new(bytes), limit)?
        }
        "deflate" => {
            // "deflate" means zlib, but some servers send it raw.
            let zlib = matches!(bytes, [first, second, ..] if first & 15 == 8
                && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31));
            if zlib {
                read_all(flate2::read::ZlibDecoder::new(bytes), limit)?
            } else {
                read_all(flate2::read::DeflateDecoder::new(bytes), limit)?
            }
        }
        "br" => read_all(brotli_decompressor::Decompressor::new(bytes, 4096), limit)?,
        "zstd" if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
            match zstd::stream::read::Decoder::with_buffer(bytes) {
                Ok(decoder) => read_all(decoder, limit)?,
                Err(_) => None,
            }
        }
        _ => None,
    };
    Ok(decoded.map_or(body, Cow::Owned))
}

/// `None` if it fails before the first byte, because then it was not encoded.
fn read_all(decoder: impl Read, limit: usize) -> Result<Option<Vec<u8>>, BodyTooLong> {
    let mut decoded = Vec::new();
    let result = decoder.take(limit as u64 + 1).read_to_end(&mut decoded);
    if decoded.len() > limit {
        return Err(BodyTooLong);
    }
    Ok((result.is_ok() || !decoded.is_empty()).then_some(decoded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn body(response: &[u8]) -> Vec<u8> {
        let response = Response::parse(response, 1 << 20).unwrap();
        response.decoded_body(1 << 20).unwrap().into_owned()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn chunks_are_joined_and_gzip_inside_them_is_undone() {
        let packed = gzip(b"hello world");
        let mut response =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nContent-Encoding: gzip\r\n\r\n"
                .to_vec();
        for piece in packed.chunks(7) {
            response.extend_from_slice(format!("{:x};ext=1\r\n", piece.len()).as_bytes());
            response.extend_from_slice(piece);
            response.extend_from_slice(b"\r\n");
        }
        response.extend_from_slice(b"0\r\n\r\n");
        assert_eq!(body(&response), b"hello world");
    }

    #[test]
    fn an_announced_encoding_that_is_not_there_changes_nothing() {
        let announced = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Encoding: gzip\n\n";
        assert_eq!(body(format!("{announced}<html>plain").as_bytes()), b"<html>plain");
        assert_eq!(body(b"HTTP/1.0 200 OK\r\nContent-Encoding: br\r\n\r\n"), b"");
    }

    #[test]
    fn a_body_that_stops_early_is_kept_as_far_as_it_goes() {
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n01234";
        assert_eq!(body(chunked), b"01234");
        let mut cut = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
        let packed = gzip(&b"word ".repeat(40_000));
        cut.extend_from_slice(&packed[..packed.len() - 20]);
        assert!(body(&cut).starts_with(b"word word"));
    }

    #[test]
    fn deflate_is_zlib_or_raw() {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(b"either way").unwrap();
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        raw.write_all(b"either way").unwrap();
        for packed in [zlib.finish().unwrap(), raw.finish().unwrap()] {
            let mut response = b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n".to_vec();
            response.extend_from_slice(&packed);
            assert_eq!(body(&response), b"either way");
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut response = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
        response.extend_from_slice(&gzip(&vec![0; 3 << 20]));
        let parsed = Response::parse(&response, 1 << 20).unwrap();
        assert_eq!(parsed.decoded_body(1 << 20), Err(BodyTooLong));
    }
}
