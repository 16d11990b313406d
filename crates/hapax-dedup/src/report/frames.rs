//! The frames of the largest hosts, shown on one page of each.

use hapax::frame::located_pieces;
use hapax::group::PageFacts;
use serde::{Deserialize, Serialize};

use super::examples::Text;
use crate::frames::HostFrame;
use crate::outputs::Summary;
use crate::pages::Pages;
use hapax_report::{counted, escape, grouped};

/// Maximum bytes shown per frame.
const LONGEST: usize = 1200;

/// The frame of a host on one of its pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShownFrame {
    host: String,
    pages: u32,
    /// The frame's text on the page; `…` stands for the rest.
    text: String,
}

impl ShownFrame {
    /// Shows the frame (ascending hashes) of a host with this many pages on the text of one of
    /// them.
    pub(crate) fn on(url: &str, pages: u32, text: &str, frame: &[u32]) -> Self {
        Self { host: PageFacts::at(url).host().to_owned(), pages, text: shown(text, frame) }
    }
}

/// Collects frames from the texts of one page per host.
pub(crate) struct Frames {
    learned: Vec<HostFrame>,
    shown: Vec<ShownFrame>,
}

impl Frames {
    pub(crate) fn new(frames: &[HostFrame]) -> Self {
        Self { learned: frames.to_vec(), shown: Vec::new() }
    }

    /// Pages whose texts are needed.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = u32> {
        self.learned.iter().map(|frame| frame.page)
    }

    pub(crate) fn take(&mut self, texts: &[(u32, Option<Text>)], pages: &Pages) {
        for frame in &self.learned {
            let text = texts.iter().find(|(page, _)| *page == frame.page);
            let Some((page, Some(text))) = text else { continue };
            let url = pages.url(*page);
            self.shown.push(ShownFrame::on(url, frame.pages, &text.text, &frame.pieces));
        }
    }

    /// Sorted by number of pages, largest first.
    pub(crate) fn seen(self) -> Vec<ShownFrame> {
        self.shown
    }
}

/// The parts of a text that belong to the frame, with `…` for the rest.
fn shown(text: &str, frame: &[u32]) -> String {
    let mut out = String::new();
    let mut end = 0;
    for (place, hash) in located_pieces(text) {
        if frame.binary_search(&hash).is_err() {
            continue;
        }
        let between = text[end..place.start].trim();
        if between.contains(char::is_alphanumeric) {
            out.push_str(" … ");
        } else if end > 0 {
            out.push_str(&text[end..place.start]);
        }
        out.push_str(&text[place.clone()]);
        end = place.end;
        if out.len() > LONGEST {
            out.push_str(" …");
            break;
        }
    }
    out
}

pub(super) fn section(out: &mut String, summary: &Summary, frames: &[ShownFrame]) {
    if frames.is_empty() {
        return;
    }
    out.push_str(&format!(
        "<section>\n<h2>Frames of the largest hosts</h2>\n<p class=\"facts\">The frame of a host is the text that many \
         of its pages share; it was learned for {}. A page is removed for another one of its host only if they are also alike \
         beyond the frame. Pages that differ in numbers only, or in a few words without a number, are compared as a whole.</p>\n",
        counted(summary.framed_hosts, "host"),
    ));
    for frame in frames {
        out.push_str(&format!(
            "<details><summary>{} ({} pages)</summary><p>{}</p></details>\n",
            escape(&frame.host),
            grouped(u64::from(frame.pages)),
            escape(&frame.text),
        ));
    }
    out.push_str("</section>\n");
}
