//! A site whose pages share a large frame and differ in little text.
//!
//! A page is a product: a name, a price, a number and a description inside menu, sidebar and footer, which are the
//! same on every page of the site. Copies of a page are made as real sites make them. Every page is a pure function
//! of the site and its number. Different numbers are different products, and every copy of a number is the same
//! product; which of them a program should keep is open.

use std::fmt::Write;

use crate::language::{Language, Speller};
use crate::rng::{Purpose, Rng};
use crate::words::Words;

#[derive(Clone, Debug)]
pub struct TemplatedSite {
    pub seed: u64,
    /// Host name without a scheme.
    pub host: String,
    /// Number of words that all pages share.
    pub frame_words: usize,
    /// How many of these are in the menu, which print versions lack.
    pub menu_words: usize,
    /// Words of a product's description, without name, price and number.
    pub own_words: usize,
    /// The frame changes after this many pages; 0 for a constant frame.
    pub frame_changes_every: u64,
    /// Whether odd pages are in another language, in a frame of that language.
    pub two_languages: bool,
    words: Words,
    spellers: [Speller; 2],
}

/// How a site shows a page a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteCopy {
    /// At an address with a session id, which is also at the end of the page.
    Session,
    /// A print version, without menu and sidebar.
    Print,
    /// At an address that names the referrer.
    Referrer,
    /// With the menu in another order.
    Menu,
    /// With another date at the end.
    Date,
}

impl SiteCopy {
    pub const ALL: [Self; 5] = [Self::Session, Self::Print, Self::Referrer, Self::Menu, Self::Date];
}

/// A page of a [`TemplatedSite`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePage {
    pub url: String,
    pub html: String,
}

/// Number of words of a menu item.
const ITEM: usize = 2;
const PARAGRAPH: usize = 25;
/// Names of products are words from this rank up, so they are unique.
const FIRST_NAME: u32 = 100_000;

impl TemplatedSite {
    /// A site in one language with one frame, a third of which is the menu.
    pub fn new(seed: u64, host: &str, frame_words: usize, own_words: usize) -> Self {
        Self {
            seed,
            host: host.to_owned(),
            frame_words,
            menu_words: frame_words / 3,
            own_words,
            frame_changes_every: 0,
            two_languages: false,
            words: Words::new(seed),
            spellers: [Language::Latin, Language::Cyrillic].map(Speller::new),
        }
    }

    pub fn page(&self, number: u64) -> SitePage {
        self.shown(number, None)
    }

    /// The page of a product in the form of a copy.
    pub fn copy(&self, number: u64, how: SiteCopy) -> SitePage {
        self.shown(number, Some(how))
    }

    fn shown(&self, number: u64, how: Option<SiteCopy>) -> SitePage {
        let language = usize::from(self.two_languages && number % 2 == 1);
        let version = number.checked_div(self.frame_changes_every).unwrap_or(0);
        let mut frame = Rng::keyed(self.seed, Purpose::Host, version, language as u64);
        let mut own = Rng::keyed(self.seed, Purpose::Content, number, 7);
        let say = |rng: &mut Rng, count: usize| self.say(language, count, rng);
        let (mut name, category) = (say(&mut own, 1) + " ", say(&mut frame, 2));
        self.spellers[language].spell(FIRST_NAME + number as u32, &mut name);
        let (price, article) = (own.between(100, 99_999), own.between(10_000, 999_999));
        let mut menu: Vec<String> =
            paragraphs(self.menu_words, ITEM).map(|n| say(&mut frame, n)).collect();
        let foot: Vec<String> =
            paragraphs(self.frame_words.saturating_sub(self.menu_words), PARAGRAPH)
                .map(|n| say(&mut frame, n))
                .collect();
        let text: Vec<String> =
            paragraphs(self.own_words, PARAGRAPH).map(|n| say(&mut own, n)).collect();
        let session = own.bits() as u32;
        if how == Some(SiteCopy::Menu) {
            menu.reverse();
        }
        if how == Some(SiteCopy::Print) {
            menu.clear();
        }
        let day = 1 + (number + u64::from(how == Some(SiteCopy::Date)) * 9) % 28;

        let mut html = format!("<html><head><title>{name} - {category}</title></head><body><ul>");
        for item in &menu {
            let _ = write!(html, "<li><a href=\"/{item}\">{item}</a></li>");
        }
        let (whole, cents) = (price / 100, price % 100);
        let _ =
            write!(html, "</ul><h1>{name}</h1><p>{whole}.{cents:02} EUR</p><p>No. {article}</p>");
        text.iter().for_each(|text| html.push_str(&format!("<p>{text}.</p>")));
        foot.iter().for_each(|text| html.push_str(&format!("<div>{text}.</div>")));
        let _ = write!(html, "<p>2026-11-{day:02}</p>");
        if how == Some(SiteCopy::Session) {
            let _ = write!(html, "<p>id {session:08x}0</p>");
        }
        html.push_str("</body></html>");
        let path = match how {
            None => format!("p/{number}"),
            Some(SiteCopy::Session) => format!("p/{number}?sid={session:08x}"),
            Some(SiteCopy::Print) => format!("print/{number}"),
            Some(SiteCopy::Referrer) => format!("p/{number}?ref=home"),
            Some(SiteCopy::Menu) => format!("p/{number}/"),
            Some(SiteCopy::Date) => format!("p/{number}?day={day}"),
        };
        SitePage { url: format!("http://{}/{path}", self.host), html }
    }

    fn say(&self, language: usize, count: usize, rng: &mut Rng) -> String {
        let mut text = String::new();
        for at in 0..count {
            if at > 0 {
                text.push(' ');
            }
            self.spellers[language].spell(self.words.general(rng), &mut text);
        }
        text
    }
}

/// Lengths of paragraphs of at most `most` words that add up to `words`.
fn paragraphs(words: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..words.div_ceil(most)).map(move |at| most.min(words - at * most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn words(page: &SitePage) -> Vec<&str> {
        page.html.split(['<', '>']).skip(2).step_by(2).flat_map(str::split_whitespace).collect()
    }

    #[test]
    fn pages_have_the_configured_lengths_and_unique_addresses() {
        let site = TemplatedSite::new(1, "shop.test", 300, 40);
        let page = site.page(3);
        // Plus name, category, dash, name again, price, EUR, No., number and date.
        assert_eq!(words(&page).len(), 300 + 40 + 5 + 2 + 2 + 2 + 1);
        let mut addresses = BTreeSet::from([page.url]);
        for how in SiteCopy::ALL {
            assert!(addresses.insert(site.copy(3, how).url), "{how:?}");
        }
        assert_eq!(site.page(3), TemplatedSite::new(1, "shop.test", 300, 40).page(3));
    }

    #[test]
    fn frames_are_shared_until_they_change() {
        let mut site = TemplatedSite::new(1, "shop.test", 300, 0);
        site.frame_changes_every = 10;
        let pages: Vec<SitePage> = (0..20).map(|number| site.page(number)).collect();
        let shared = |a: usize, b: usize| {
            let (a, b) = (words(&pages[a]), words(&pages[b]));
            a.iter().zip(&b).filter(|(a, b)| a == b).count()
        };
        assert!(shared(0, 9) > 290 && shared(9, 10) < 50);
        site.two_languages = true;
        assert!(site.page(1).html.chars().any(|c| ('а'..='я').contains(&c)));
        assert!(site.page(2).html.is_ascii());
    }
}
