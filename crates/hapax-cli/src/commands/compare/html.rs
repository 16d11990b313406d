//! A comparison as a self-contained web page.
//!
//! Style, script and picture are inside the file, and nothing is fetched. Escapes everything that comes from the
//! compared pages or from file names.

use super::{Pair, Shown};
use crate::readable;
use hapax::fingerprint::Signature;
use hapax::fingerprint::explain::BitComparison;
use hapax_report::{PAIR_SCRIPT, PAIR_STYLE, bits, document, escape, row};

const STYLE: &str = include_str!("page.css");
const START: &str = "sideBySide(document.querySelector(\".texts\"));";

pub(super) fn page(pair: &Pair) -> String {
    let title = format!("{} and {}", escape(&pair.left.name), escape(&pair.right.name));
    let script = format!("{PAIR_SCRIPT}{START}");
    let title = format!("{title} · hapax compare");
    document(&title, &[PAIR_STYLE, STYLE], &body(pair), &script)
}

fn body(pair: &Pair) -> String {
    let c = &pair.comparison;
    let mut out = String::new();
    out.push_str(&format!("<header>\n<h1>{}</h1>\n", escape(&pair.sentence())));
    out.push_str("<div class=\"pages\">\n");
    page_card(&mut out, "A", &pair.left, &c.left);
    page_card(&mut out, "B", &pair.right, &c.right);
    out.push_str("</div>\n</header>\n");
    numbers(&mut out, pair);
    if let (Some(bits), Some(left), Some(right)) =
        (&c.bits, &c.left.comparable, &c.right.comparable)
    {
        fingerprints(&mut out, bits, &bits::picture(left, right), &pair.recipe_id);
    }
    texts(&mut out, pair);
    out
}

fn page_card(out: &mut String, letter: &str, shown: &Shown, signature: &Signature) {
    let class = letter.to_ascii_lowercase();
    let title = match shown.title.as_deref() {
        Some(title) if !title.is_empty() => {
            format!("<p class=\"title\" dir=\"auto\">{}</p>", escape(title))
        }
        _ => String::new(),
    };
    let fingerprint = match &signature.comparable {
        Some(comparable) => format!("fingerprint <code>{}</code>", comparable.fingerprint),
        None => "no fingerprint: the page has no words".to_owned(),
    };
    let short = if signature.too_short { " · too short to compare" } else { "" };
    let hides = if signature.hides_most { " · more text hidden than shown" } else { "" };
    out.push_str(&format!(
        "<div class=\"page {class}\"><p class=\"name\"><b>{letter}</b> {}</p>{title}\
         <p class=\"facts\">{}{short}{hides} · {fingerprint}</p></div>\n",
        escape(&shown.name),
        readable::counted(u64::from(signature.words), "word"),
    ));
}

fn numbers(out: &mut String, pair: &Pair) {
    let c = &pair.comparison;
    out.push_str("<section class=\"numbers\">\n");
    let mut tile = |value: String, name: &str, meaning: String| {
        out.push_str(&format!(
            "<div><strong>{value}</strong><h3>{name}</h3><p>{meaning}</p></div>\n"
        ));
    };
    let shingle = pair.recipe.sketch_shingle.words();
    if let Some(bits) = &c.bits {
        tile(
            format!("{:.1} %", bits.percent),
            "fingerprints agree",
            format!(
                "{} of 64 {}. Similar pages differ in few bits.",
                readable::counted(u64::from(bits.distance), "bit"),
                if bits.distance == 1 { "differs" } else { "differ" },
            ),
        );
        tile(
            format!(
                "{:.3} <small>± {:.3}</small>",
                bits.estimate.jaccard, bits.estimate.standard_error
            ),
            "estimated similarity",
            "Jaccard similarity estimated from a sketch of 128 bytes per page, with its standard \
             error."
                .to_owned(),
        );
    }
    tile(
        format!("{:.3}", c.jaccard),
        "exact Jaccard similarity",
        format!(
            "Share of all runs of {shingle} words that both pages have: {} shared, {} only in A, \
             {} only in B.",
            readable::count(c.shared as u64),
            readable::count(c.only_left as u64),
            readable::count(c.only_right as u64),
        ),
    );
    tile(
        format!("{:.3}", c.containment),
        "containment",
        "Share of the smaller page that is also in the other.".to_owned(),
    );
    tile(
        format!("{:.3}", c.cosine),
        "cosine",
        "Similarity of the weighted words that the fingerprints are made of.".to_owned(),
    );
    out.push_str("</section>\n");
}

fn fingerprints(out: &mut String, bits: &BitComparison, picture: &str, recipe_id: &str) {
    out.push_str(&format!(
        "<section>\n<h2>The 64 bits</h2>\n<figure>{picture}<figcaption>A above, B below. A bar \
         points up for a 1 and down for a 0; the longer, the stronger. Differing bits have a band: \
         short bars there mean that little text changed them. Recipe <code>{}</code>.\
         </figcaption></figure>\n",
        escape(recipe_id),
    ));
    if !bits.differing.is_empty() {
        out.push_str(
            "<details><summary>The differing bits in numbers</summary>\n<table><thead><tr>\
             <th>bit</th><th>sum in A</th><th>weakness</th><th>sum in B</th><th>weakness</th>\
             </tr></thead><tbody>\n",
        );
        for d in &bits.differing {
            out.push_str(&format!(
                "<tr><td>{}</td><td>{:+}</td><td>{}</td><td>{:+}</td><td>{}</td></tr>\n",
                d.bit, d.left_sum, d.left_rank, d.right_sum, d.right_rank
            ));
        }
        out.push_str(
            "</tbody></table>\n<p>Weakness 1 is the bit whose sum is nearest to zero, 64 the \
             surest.</p></details>\n",
        );
    }
    out.push_str("</section>\n");
}

fn texts(out: &mut String, pair: &Pair) {
    out.push_str(
        "<section class=\"texts\">\n<div class=\"bar\"><h2>Side by side</h2>\
         <ul class=\"legend\"><li><span class=\"only-a\">only in A</span></li>\
         <li><span class=\"only-b\">only in B</span></li>\
         <li><span class=\"moved\">in both, elsewhere</span></li></ul>\
         <div class=\"tools\"><label><input type=\"checkbox\" class=\"all\"> all shared text</label>\
         <button class=\"previous\" aria-label=\"previous difference\">↑</button><button class=\"next\">↓ difference</button></div></div>\n\
         <div class=\"rows\">\n",
    );
    for laid in &pair.rows {
        row(out, laid, &pair.left.text, &pair.right.text);
    }
    out.push_str("</div>\n</section>\n");
}
