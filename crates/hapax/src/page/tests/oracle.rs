//! The same text as from a tree built by the standard's full algorithm.
//!
//! `scraper` builds the tree and a plain walk over it applies the rules of the module. Pages are
//! generated so that both have to agree: blocks nest, inline elements may cross each other,
//! optional end tags may be missing.

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

/// A page as its source text.
fn pages() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        5 => "[a-z]{1,6}",
        3 => Just(" ".to_owned()),
        5 => prop::sample::select(LEAVES).prop_map(str::to_owned),
        1 => (0..INLINE.len(), 0..INLINE.len()).prop_map(|(outer, inner)| {
            // Crossed on purpose.
            let (outer, inner) = (INLINE[outer], INLINE[inner]);
            format!("<{outer}>a<{inner}>b</{outer}>c</{inner}>")
        }),
    ];
    let tree = leaf.prop_recursive(4, 60, 8, |inner| {
        let children = prop::collection::vec(inner, 0..8);
        let name = prop_oneof![prop::sample::select(BLOCKS), prop::sample::select(INLINE)];
        (name, children, any::<bool>()).prop_map(|(name, children, upper)| {
            let tag = if upper { name.to_uppercase() } else { name.to_owned() };
            format!("<{tag}>{}</{name}>", children.concat())
        })
    });
    (prop::collection::vec(tree, 0..8), any::<bool>()).prop_map(|(trees, whole)| {
        let body = trees.concat();
        if whole {
            format!("<!doctype html><html><head><title>no</title></head><body>{body}</body></html>")
        } else {
            body
        }
    })
}

/// The rules of the module, applied to a tree.
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
    for edge in document.tree.root().traverse() {
        use ego_tree::iter::Edge;
        let (node, opens) = match edge {
            Edge::Open(node) => (node, true),
            Edge::Close(node) => (node, false),
        };
        match node.value() {
            Node::Element(element) => {
                if !RUNS_ON.contains(&element.name()) && dropped == 0 {
                    text.push(' ');
                }
                if DROPPED.contains(&element.name()) {
                    dropped = if opens { dropped + 1 } else { dropped - 1 };
                    if !RUNS_ON.contains(&element.name()) && dropped == 0 {
                        text.push(' ');
                    }
                }
            }
            Node::Text(run) if opens && dropped == 0 => text.push_str(&run.text),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_text_is_that_of_the_standards_tree(html in pages()) {
        prop_assert_eq!(text_of(&html), text_of_tree(&html));
    }
}
