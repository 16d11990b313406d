//! Hosts and addresses of the synthetic web.
//!
//! `n` pages have `n^0.6 / 2` hosts (at least 2); a family's host is drawn by Zipf with exponent 0.9. A host has a
//! name under `.test`, which never resolves, a scheme, a design ([`Skin`]) and one of three forms of address, one
//! with a session id. Addresses are unique; [`Web::index_of_url`] is the exact inverse of [`Web::url_into`].
//!
//! ```text
//!   https://www.dosar.test/kalu/p1z4.html
//!   http://www.dosar.test/kalu/p1z4/
//!   https://www.dosar.test/index.php?sid=7f03a9c2&id=p1z4
//! ```

use crate::language::Language;
use crate::rng::{Purpose, Rng, key};
use crate::stable_math::{log_normal, pow};
use crate::web::Web;
use crate::words::VOCABULARY;
use crate::zipf::Zipf;

const HOST_EXPONENT: f64 = 0.9;
const MOST_HOSTS: u64 = 1_000_000;
/// Names of hosts are words from this rank up.
const FIRST_NAME: u32 = 100;
const _: () = assert!(FIRST_NAME as u64 + MOST_HOSTS <= VOCABULARY as u64);

/// The markup of a host's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skin {
    /// `header`, `nav`, `main`, `footer`; absolute links.
    Semantic,
    /// `div`s with classes; `base` and links relative to the root.
    Divisions,
    /// A layout table; absolute links.
    Tables,
}

/// A host's properties, and the stream that generates its frame.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) skin: Skin,
    /// Whether pages show a date; a page shows a date, a counter or both.
    pub(crate) shows_date: bool,
    pub(crate) shows_counter: bool,
    /// Number of words of the frame before the content.
    pub(crate) menu_words: u64,
    pub(crate) footer_words: u64,
    /// Continues with the words of the frame.
    pub(crate) rng: Rng,
}

#[derive(Clone, Debug)]
pub(crate) struct Sites {
    seed: u64,
    hosts: u64,
    law: Zipf,
}

impl Sites {
    pub(crate) fn new(seed: u64, pages: u64) -> Self {
        let hosts = (pow(pages.max(1) as f64, 0.6) * 0.5) as u64;
        let hosts = hosts.clamp(2, MOST_HOSTS);
        Self { seed, hosts, law: Zipf::new(hosts, HOST_EXPONENT) }
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        self.law.draw(rng)
    }

    /// Draws a host other than `taken`.
    pub(crate) fn draw_other(&self, taken: u64, rng: &mut Rng) -> u64 {
        match self.law.draw(rng) {
            host if host == taken => (host + 1) % self.hosts,
            host => host,
        }
    }

    pub(crate) fn host(&self, host: u64) -> Host {
        let mut rng = Rng::keyed(self.seed, Purpose::Host, host, 0);
        let skin = [Skin::Semantic, Skin::Divisions, Skin::Tables][rng.below(3) as usize];
        let noise = rng.below(3);
        let words = log_normal(&mut rng, 3.6, 1.1, 3, 2_000);
        let footer_words = words / 3;
        Host {
            skin,
            shows_date: noise != 0,
            shows_counter: noise != 1,
            menu_words: words - footer_words,
            footer_words,
            rng,
        }
    }
}

impl Web {
    pub fn url(&self, index: u64) -> String {
        let mut out = String::new();
        self.url_into(index, &mut out);
        out
    }

    /// Appends the address of a page.
    pub fn url_into(&self, index: u64, out: &mut String) {
        let identity = self.identity(index);
        self.push_origin(identity.host, out);
        self.push_path(index, identity.host, identity.family.topic, out);
    }

    /// The page at this absolute address; `None` if there is none.
    pub fn index_of_url(&self, url: &str) -> Option<u64> {
        let number = url.rsplit(['/', '=', '&', '.']).find_map(|piece| {
            let digits = piece.strip_prefix('p')?;
            let canonical = !digits.is_empty() && digits.len() <= 12;
            canonical.then(|| u64::from_str_radix(digits, 36).ok())?
        })?;
        (number < self.len() && self.url(number) == url).then_some(number)
    }

    /// Appends scheme and host name: `https://www.dosar.test`.
    pub(crate) fn push_origin(&self, host: u64, out: &mut String) {
        let bits = key(self.options.seed, Purpose::Host, host, 1);
        out.push_str(if bits % 10 < 7 { "https://www." } else { "http://www." });
        self.push_host_name(host, out);
        out.push_str(".test");
    }

    /// Appends the name of a host: `dosar`.
    pub(crate) fn push_host_name(&self, host: u64, out: &mut String) {
        self.pen(Language::Latin).speller.spell(FIRST_NAME + host as u32, out);
    }

    /// Appends the path below the host.
    pub(crate) fn push_path(&self, index: u64, host: u64, topic: u64, out: &mut String) {
        let form = key(self.options.seed, Purpose::Host, host, 2) % 3;
        if form == 2 {
            out.push_str("/index.php?sid=");
            push_hex(key(self.options.seed, Purpose::Noise, index, 1) as u32, out);
            out.push_str("&id=p");
            push_base36(index, out);
            return;
        }
        out.push('/');
        self.pen(Language::Latin).speller.spell(300 + (topic % 40) as u32, out);
        out.push_str("/p");
        push_base36(index, out);
        out.push_str(if form == 0 { ".html" } else { "/" });
    }
}

/// Appends eight hexadecimal digits.
pub(crate) fn push_hex(value: u32, out: &mut String) {
    for shift in (0..8).rev() {
        out.push(char::from(b"0123456789abcdef"[(value >> (4 * shift) & 15) as usize]));
    }
}

/// Appends a decimal number.
pub(crate) fn push_decimal(value: u64, out: &mut String) {
    push_radix(value, 10, out);
}

fn push_base36(value: u64, out: &mut String) {
    push_radix(value, 36, out);
}

fn push_radix(mut value: u64, radix: u64, out: &mut String) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(value % radix) as usize];
        value /= radix;
        if value == 0 {
            break;
        }
    }
    out.extend(digits[start..].iter().map(|&digit| char::from(digit)));
}
