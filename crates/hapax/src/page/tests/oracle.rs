//! Compares extracted text with the text of a tree built by the standard's full algorithm.
//!
//! `scraper` builds the tree, and a simple walk applies the rules of the module. Pages are generated such that
//! both must agree: blocks nest, inline elements may overlap, optional end tags may be missing.

use proptest::prelude::*;
use scraper::{Html, Node};

use super::text_of;

const BLOCKS: &[&str] = &["div", "section", "ul", "aside", "blockquote", "article", "nav", "pre"];
const INLINE: &[&str] = &["b", "i", "span", "a", "em", "code", "u", "unknown"];
const LEAVES: &[&str] = &[
    "<br>",
    "<hr>",
    "<img alt=no src='a b'>",
    "<!-- no -->",
    "<script>no < no</script>",
    "<style>no</style>",
    "<svg><text>no</text></svg>",
    "<template><p>no</p></template>",
    "<textarea>yes &amp; <b></textarea>",
    "<noscript><p>no</p></noscript>",
    "<iframe>no</iframe>",
    "<object><b>no</b></object>",
    "<wbr>",
    "<math><mi>x</mi></math>",
    "&amp;",
    "&eacute;",
    "&lt;b&gt;",
    "&#8212;",
    "&nbsp;",
    "&bogus;",
    " & ",
    "é中",
    "<input value=no>",
    "<button>yes</button>",
    "<table><tr><td>a</td><td>b</td></tr></table>",
    "<ruby>x<rp>(</rp><rt>y</rt></ruby>",
    "<video>no</video>",
    "<ul><li>one<li>two</ul>",
    "<p>open paragraph",
    "<b class='x' id=y data-z>bold</b>",
    "\n",
    "\t \u{a0}",
];

/// Hidden elements of other inline names are not generated: the standard moves blocks left open in
/// them out again, after they were read.
const FORMATTING: &[&str] = &["b", "i", "a", "em", "code", "u"];
/// Elements whose end tags are left out, with `*` for attributes.
const LEFT_OPEN: &[&str] = &[
    "<p*>one<p>two",
    "<ul><li*>one<li>two</ul>",
    "<dl><dt*>one<dd>two</dl>",
    "<table><tr*><td>one<tr><td*>two<td>three</table>",
    "<select><option*>one<option>two</select>",
    "<div><p*>one</div>two",
    "<p><b*>one</p><p>two</b>three</p>",
    "a<br*>b",
];

/// Attributes that may hide an element, or show it again.
const ATTRIBUTES: &[&str] = &[
    " hidden",
    " style='display:none'",
    " class='x gone'",
    " id=away",
    " style=visibility:hidden",
    " style='visibility: visible'",
];
const RULES: &str = "<style>.gone, #away { display: none }</style>";

/// A page as its source text.
fn pages() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        5 => "[a-z]{1,6}",
        3 => Just(" ".to_owned()),
        5 => prop::sample::select(LEAVES).prop_map(str::to_owned),
        1 => (0..INLINE.len(), 0..INLINE.len()).prop_map(|(outer, inner)| {
            // Overlaps on purpose.
            let (outer, inner) = (INLINE[outer], INLINE[inner]);
            format!("<{outer}>a<{inner}>b</{outer}>c</{inner}>")
        }),
        1 => (0..FORMATTING.len(), 0..ATTRIBUTES.len()).prop_map(|(outer, attribute)| {
            let (outer, attribute) = (FORMATTING[outer], ATTRIBUTES[attribute]);
            format!("<{outer}{attribute}>a<i>b</{outer}>c</i><{outer}{attribute}>d<p>e</{outer}>f</p>g")
        }),
        1 => (0..LEFT_OPEN.len(), 0..ATTRIBUTES.len()).prop_map(|(open, attribute)| {
            LEFT_OPEN[open].replace('*', ATTRIBUTES[attribute])
        }),
    ];
    let tree = leaf.prop_recursive(4, 60, 8, |inner| {
        let children = prop::collection::vec(inner, 0..8);
        let name = prop_oneof![prop::sample::select(BLOCKS), prop::sample::select(INLINE)];
        let attribute = prop_oneof![
            5 => Just(""),
            1 => prop::sample::select(ATTRIBUTES),
        ];
        (name, children, any::<bool>(), attribute).prop_map(|(name, children, upper, attribute)| {
            let attribute = if ["span", "unknown"].contains(&name) { "" } else { attribute };
            let tag = if upper { name.to_uppercase() } else { name.to_owned() };
            format!("<{tag}{attribute}>{}</{name}>", children.concat())
        })
    });
    (prop::collection::vec(tree, 0..8), any::<bool>()).prop_map(|(trees, whole)| {
        let body = trees.concat() + RULES;
        if whole {
            format!("<!doctype html><html><head><title>no</title></head><body>{body}</body></html>")
        } else {
            body
        }
    })
}

/// Reference implementation: the rules of the module, applied to a tree.
fn text_of_tree(html: &str) -> String {
    const DROPPED: &[&str] = &[
        "title", "script", "style", "svg", "template", "noscript", "iframe", "object", "video",
        "rp",
    ];
    const RUNS_ON: &[&str] = &[
        "b", "i", "span", "a", "em", "code", "u", "unknown", "wbr", "math", "mi", "ruby", "script",
        "style", "template", "noscript",
    ];
    let document = Html::parse_document(html);
    let mut text = String::new();
    let mut dropped = 0;
    // For each open element: whether it is not displayed, and not visible.
    let mut states = vec![(false, false)];
    for edge in document.tree.root().traverse() {
        use ego_tree::iter::Edge;
        let (node, opens) = match edge {
            Edge::Open(node) => (node, true),
            Edge::Close(node) => (node, false),
        };
        match node.value() {
            Node::Element(element) => {
                let own = |name: &str| element.attr(name).unwrap_or_default();
                let (outer, hidden) = *states.last().unwrap();
                if opens {
                    let gone = outer
                        || element.attr("hidden").is_some()
                        || own("style") == "display:none"
                        || own("class").ends_with("gone")
                        || own("id") == "away";
                    let invisible = match own("style") {
                        "visibility:hidden" => true,
                        "visibility: visible" => false,
                        _ => hidden,
                    };
                    states.push((gone, invisible));
                }
                let (gone, _) = *states.last().unwrap();
                let takes_room = opens && own("style") == "visibility:hidden";
                if (takes_room || !RUNS_ON.contains(&element.name())) && dropped == 0 && !gone {
                    text.push(' ');
                }
                if !opens {
                    states.pop();
                }
                if DROPPED.contains(&element.name()) {
                    dropped = if opens { dropped + 1 } else { dropped - 1 };
                    if !RUNS_ON.contains(&element.name()) && dropped == 0 && !gone {
                        text.push(' ');
                    }
                }
            }
            Node::Text(run)
                if opens && dropped == 0 && *states.last().unwrap() == (false, false) =>
            {
                text.push_str(&run.text);
            }
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_text_is_that_of_the_standards_tree(html in pages()) {
        // The standard reopens a formatting element when text follows, and not at all inside a
        // table cell that began before; this extractor reopens it immediately. So a paragraph that
        // ends another one is outside of a hidden formatting element there and inside here, where
        // it may show itself.
        let lower = html.to_lowercase();
        let is_reopened = FORMATTING.iter().any(|name| {
            ATTRIBUTES.iter().any(|attribute| lower.contains(&format!("<{name}{attribute}")))
        });
        prop_assume!(!(is_reopened && lower.contains("<table")));
        let hides = |name: &&str| lower.contains(&format!("<{name} style=visibility:hidden"));
        prop_assume!(!(FORMATTING.iter().any(hides) && lower.contains("visibility: visible")));
        let (text, expected) = (text_of(&html), text_of_tree(&html));
        let letters = |text: &str| text.replace(' ', "");
        prop_assert_eq!(letters(&text), letters(&expected));
        // A block that begins inside a hidden formatting element and is later moved out of it
        // separates words in the tree only.
        if !is_reopened {
            prop_assert_eq!(text, expected);
        }
    }
}
