//! Turns words into a document: frame, heading, noise, paragraphs and links, with style, a script with the session
//! id, comments, entities and three designs. A host has a frame in each language.
//!
//! ```text
//!   menu of the host            two thirds of its frame; every item links to a page outside of the web
//!   heading                     the first words of the original
//!   date                        on two of three hosts
//!   paragraphs                  links surround single words
//!   thumbnails                  links without text, if there are too few words
//!   footer of the host          the last third of its frame
//!   counter                     on two of three hosts
//! ```
//!
//! Guarantees a well-formed document whose links to pages of the web are exactly [`Web::links`], in that order.

use crate::links::WORDS_PER_LINK;
use crate::rng::{Purpose, Rng};
use crate::site::{Host, Skin, push_decimal, push_hex};
use crate::stable_math::log_uniform;
use crate::web::{Identity, Page, Pen, Scratch, Web};
use crate::words::Token;

/// 2026-01-01 in days since 1970.
const CRAWL_DAY: u64 = 20_454;

impl Web {
    /// Fills `page` with the page whose words are in `scratch.text`.
    pub(crate) fn render(
        &self,
        index: u64,
        identity: &Identity,
        week: u32,
        page: &mut Page,
        scratch: &mut Scratch,
    ) {
        let pen = self.pen(identity.family.language);
        let look = self.looks_like(index, identity);
        let host = self.sites.host(identity.frame);
        self.links_of(look, &mut scratch.links);

        page.index = index;
        page.truth = identity.truth();
        page.fetched = self.fetched(index, week);
        page.url.clear();
        self.push_origin(identity.host, &mut page.url);
        self.push_path(index, identity.host, identity.family.topic, &mut page.url);
        page.title.clear();
        write_heading(&scratch.heading, pen, &mut page.title);
        let heading = page.title.len();
        page.title.push_str(" | ");
        self.push_host_name(identity.frame, &mut page.title);
        page.title.push_str(" & Co");

        let html = &mut page.html;
        html.clear();
        let noise = Noise::draw(self.options.seed, look, week);
        html.push_str("<!DOCTYPE html>\n<html lang=\"");
        html.push_str(pen.language.tag());
        html.push_str("\">\n<head><meta charset=\"utf-8\"><title>");
        push_escaped(&page.title, html);
        html.push_str("</title>\n");
        if host.skin == Skin::Divisions {
            html.push_str("<base href=\"");
            self.push_origin(identity.frame, html);
            html.push_str("/\">\n");
        }
        html.push_str("<style>.menu > li { display: inline } .ad { border: 1px solid }</style>\n");
        html.push_str("<script>var sid = \"");
        push_hex(noise.session, html);
        html.push_str("\", n = 3; if (n < 5 && sid) { document.title += \"</b>\"; }</script>\n");
        html.push_str("</head>\n<body>\n<!-- served for <");
        push_hex(noise.session, html);
        html.push_str("> -->\n");
        self.write_frame_and_content(&host, identity, pen, &noise, heading, page, scratch);
    }

    #[expect(clippy::too_many_arguments, reason = "one document is put together from all of them")]
    fn write_frame_and_content(
        &self,
        host: &Host,
        identity: &Identity,
        pen: Pen<'_>,
        noise: &Noise,
        heading: usize,
        page: &mut Page,
        scratch: &mut Scratch,
    ) {
        let html = &mut page.html;
        let mut words = host.rng.clone();
        let [before, middle, after, end] = match host.skin {
            Skin::Semantic => [
                "<header><nav>",
                "</nav></header>\n<main><article>",
                "</article></main>\n<footer>",
                "</footer>\n",
            ],
            Skin::Divisions => [
                "<div id=\"page\"><div class=\"top\">",
                "</div>\n<div class=\"content\">",
                "</div>\n<div class=\"bottom\">",
                "</div></div>\n",
            ],
            Skin::Tables => [
                "<table><tr><td>",
                "</td></tr>\n<tr><td>",
                "</td></tr>\n<tr><td>",
                "</td></tr></table>\n",
            ],
        };
        html.push_str(before);
        self.write_menu(host.menu_words, &mut words, pen, html);
        html.push_str(middle);
        html.push_str("\n<h1>");
        push_escaped(&page.title[..heading], html);
        html.push_str("</h1>\n");
        if host.shows_date {
            html.push_str("<p class=\"date\">");
            noise.write_date(pen, html);
            html.push_str("</p>\n");
        }
        let anchors =
            Anchors { web: self, frame: identity.frame, skin: host.skin, links: &scratch.links };
        write_paragraphs(&scratch.text, pen, Some(&anchors), html);
        html.push_str(after);
        html.push_str("<p>");
        for number in 0..host.footer_words {
            if number > 0 && pen.language.has_spaces() {
                html.push(' ');
            }
            pen.speller.spell(self.words.general(&mut words), html);
        }
        html.push_str("</p><p>&copy; 2026 ");
        self.push_host_name(identity.frame, html);
        html.push_str(" &amp; Co");
        if host.shows_counter {
            html.push_str(" &middot; ");
            push_decimal(noise.counter, html);
        }
        html.push_str("</p>");
        html.push_str(end);
        html.push_str("</body>\n</html>\n");
    }

    /// Writes menu items of one to three words.
    fn write_menu(&self, words: u64, rng: &mut Rng, pen: Pen<'_>, html: &mut String) {
        html.push_str("<ul class=\"menu\">\n");
        let (mut left, mut item) = (words, 0);
        while left > 0 {
            html.push_str("<li><a href=\"/c/");
            push_decimal(item, html);
            html.push_str("\">");
            let count = rng.between(1, 3).min(left);
            for number in 0..count {
                if number > 0 && pen.language.has_spaces() {
                    html.push(' ');
                }
                pen.speller.spell(self.words.general(rng), html);
            }
            html.push_str("</a></li>\n");
            left -= count;
            item += 1;
        }
        html.push_str("</ul>");
    }
}

/// Appends the paragraphs as plain text, one per line.
pub(crate) fn write_text(text: &[Token], pen: Pen<'_>, out: &mut String) {
    write_paragraphs(text, pen, None, out);
}

/// The links of one page, to be placed in its text.
struct Anchors<'a> {
    web: &'a Web,
    frame: u64,
    skin: Skin,
    links: &'a [u64],
}

impl Anchors<'_> {
    fn open(&self, link: usize, html: &mut String) {
        let target = self.links[link];
        let identity = self.web.identity(target);
        html.push_str("<a href=\"");
        if self.skin != Skin::Divisions || identity.host != self.frame {
            self.web.push_origin(identity.host, html);
        }
        let start = html.len();
        self.web.push_path(target, identity.host, identity.family.topic, html);
        // The only character of an address that needs escaping occurs once, before the id.
        if let Some(at) = html[start..].find('&') {
            html.insert_str(start + at + 1, "amp;");
        }
        html.push_str("\">");
    }
}

/// Appends paragraphs: as HTML with links if there are `anchors`, else as plain lines.
fn write_paragraphs(text: &[Token], pen: Pen<'_>, anchors: Option<&Anchors<'_>>, out: &mut String) {
    let Pen { language, speller } = pen;
    let spaced = language.has_spaces();
    let phrases = !spaced && language.full_stop().is_empty();
    let links = anchors.map_or(0, |a| a.links.len());
    let in_text = links.min(text.len() / WORDS_PER_LINK);
    let place = |link: usize| if link < in_text { link * text.len() / in_text } else { usize::MAX };
    let (mut link, mut next_link) = (0, place(0));
    let mut anchor_open = false;
    let mut block: Option<(bool, &str)> = None;

    for (index, &token) in text.iter().enumerate() {
        let advertisement = token.has(Token::ADVERTISEMENT);
        let new_block = token.has(Token::PARAGRAPH)
            || block.is_none_or(|(in_advertisement, _)| in_advertisement != advertisement);
        let gap = !new_block
            && (spaced
                || phrases && (token.has(Token::SENTENCE) || text[index - 1].has(Token::PAUSE)));
        if anchor_open && (!phrases || gap || new_block) {
            out.push_str("</a>");
            anchor_open = false;
        }
        if new_block {
            if let Some((_, close)) = block {
                out.push_str(language.full_stop());
                out.push_str(close);
            }
            let (open, close) = match (anchors.is_some(), advertisement) {
                (false, _) => ("", "\n"),
                (true, false) => ("<p>", "</p>\n"),
                (true, true) => ("<div class=\"ad\">", "</div>\n"),
            };
            out.push_str(open);
            block = Some((advertisement, close));
        } else if token.has(Token::SENTENCE) {
            out.push_str(language.full_stop());
        } else if text[index - 1].has(Token::PAUSE) && !phrases {
            let pause = language.pause(text[index - 1].rank());
            match anchors {
                Some(_) => push_escaped(pause, out),
                None => out.push_str(pause),
            }
        }
        if gap {
            out.push(' ');
        }
        if index == next_link {
            // A phrase without a gap may contain several links.
            if anchor_open {
                out.push_str("</a>");
            }
            if let Some(anchors) = anchors {
                anchors.open(link, out);
            }
            anchor_open = true;
            link += 1;
            next_link = place(link);
        }
        if new_block || token.has(Token::SENTENCE) {
            speller.spell_capital(token.rank(), out);
        } else {
            speller.spell(token.rank(), out);
        }
    }
    if anchor_open {
        out.push_str("</a>");
    }
    if let Some((_, close)) = block {
        out.push_str(language.full_stop());
        out.push_str(close);
    }
    if let Some(anchors) = anchors {
        for link in in_text..links {
            anchors.open(link, out);
            out.push_str("<img src=\"/t/");
            push_decimal(link as u64, out);
            out.push_str(".png\" alt=\"\"></a>\n");
        }
    }
}

fn write_heading(heading: &[u32], pen: Pen<'_>, out: &mut String) {
    for (index, &rank) in heading.iter().enumerate() {
        if index == 0 {
            pen.speller.spell_capital(rank, out);
            continue;
        }
        if pen.language.has_spaces() {
            out.push(' ');
        }
        pen.speller.spell(rank, out);
    }
}

/// Appends text with HTML's special characters escaped.
fn push_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
}

/// Parts that change every time a page is served.
struct Noise {
    day: u64,
    counter: u64,
    session: u32,
}

impl Noise {
    /// The noise of a page in a week; week 0 is the first crawl.
    fn draw(seed: u64, index: u64, week: u32) -> Self {
        let mut rng = Rng::keyed(seed, Purpose::Noise, index, 2 + u64::from(week));
        let day = CRAWL_DAY + 7 * u64::from(week);
        Self {
            day: day - rng.below(if week == 0 { 2_000 } else { 7 }),
            counter: log_uniform(&mut rng, 1.0, 1e6) as u64,
            session: rng.bits() as u32,
        }
    }

    /// The date in the format of the language.
    fn write_date(&self, pen: Pen<'_>, html: &mut String) {
        let (year, month, day) = civil(self.day);
        let marks = match pen.language.full_stop() {
            "。" => ["年", "月", "日"],
            _ => ["-", "-", ""],
        };
        for (number, mark) in [year, month, day].into_iter().zip(marks) {
            if number < 10 && mark.len() < 2 {
                html.push('0');
            }
            push_decimal(number, html);
            html.push_str(mark);
        }
    }
}

/// Converts days since 1970 to year, month and day (Hinnant's algorithm for non-negative days).
fn civil(day: u64) -> (u64, u64, u64) {
    let z = day + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(CRAWL_DAY), (2026, 1, 1));
    }

    #[test]
    fn special_characters_are_escaped() {
        let mut out = String::new();
        push_escaped("a & b < c > \"d\" 漢", &mut out);
        assert_eq!(out, "a &amp; b &lt; c &gt; &quot;d&quot; 漢");
    }
}
