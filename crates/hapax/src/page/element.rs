//! Tag names and their meaning for text extraction.
//!
//! Names without a meaning here are [`Element::Inline`], as browsers treat unknown elements.
//!
//! Source: the HTML standard's rendering section for block elements.

/// The effect of a tag on the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// None: words continue across it. Includes every unknown element.
    Inline,
    /// Separates words, and begins or ends a block of text.
    Block,
    /// Separates words inside a block: line breaks, cells, images, controls.
    Gap,
    /// `<p>`, `<h1>`..`<h6>`, `<li>`: blocks that main-content extraction considers.
    Paragraph,
    Heading,
    ListItem,
    Html,
    Body,
    Head,
    A,
    Area,
    Frame,
    Base,
    Link,
    Meta,
    Title,
    Textarea,
    Plaintext,
    Xmp,
    Script,
    Style,
    /// Contents are text to a browser that runs scripts, and not shown by it.
    Noscript,
    Iframe,
    Noembed,
    Noframes,
    /// Contents are never shown, or only as a fallback.
    Svg,
    Template,
    Object,
    Video,
    Audio,
    Canvas,
    Datalist,
    /// The TeX or content form that accompanies a displayed formula.
    Annotation,
    AnnotationXml,
    /// The parenthesis shown only without ruby support.
    RubyParenthesis,
    Math,
    /// The part of an image that contains HTML.
    ForeignObject,
    /// From here on: blocks and controls that main-content extraction distinguishes.
    Nav,
    Header,
    Footer,
    Aside,
    Form,
    Button,
    Select,
    Label,
    Input,
    Main,
    Article,
    Dialog,
    Menu,
    Figcaption,
    Figure,
    Div,
    Section,
    Span,
    Ul,
    Ol,
    Table,
    Td,
}

impl Element {
    pub(super) const COUNT: usize = Element::Td as usize + 1;

    /// Maximum length of an element name in bytes.
    pub(super) const MAX_NAME: usize = 16;

    /// The element with this lower-case name.
    pub(super) fn from_name(name: &[u8]) -> Self {
        match pack(name) {
            Some(packed) => Self::from_packed(packed),
            None => Self::from_long_name(name),
        }
    }

    /// The element whose name of at most eight bytes is packed into a number, which is found among
    /// a hundred in a few comparisons.
    pub(super) fn from_packed(packed: u64) -> Self {
        macro_rules! look_up {
            ($($($name:literal)|+ => $element:ident,)+) => {
                $($(if packed == const { pack_short($name) } {
                    return Element::$element;
                })+)+
            };
        }
        look_up! {
            b"a" => A,
            b"p" => Paragraph,
            b"br" | b"hr" | b"rt" | b"img" | b"col" => Gap,
            b"li" => ListItem,
            b"td" | b"th" => Td,
            b"ul" | b"dir" => Ul,
            b"ol" => Ol,
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => Heading,
            b"div" => Div,
            b"span" => Span,
            b"dd" | b"dl" | b"dt" | b"tr" | b"pre" | b"center" | b"tbody" | b"thead" | b"tfoot" | b"address" | b"caption" | b"colgroup" | b"details" | b"fieldset" | b"frameset" | b"hgroup" | b"legend" | b"listing" | b"marquee" | b"search" | b"summary" => Block,
            b"embed" | b"image" | b"meter" | b"option" | b"optgroup" | b"progress" => Gap,
            b"table" => Table,
            b"html" => Html,
            b"body" => Body,
            b"head" => Head,
            b"area" => Area,
            b"frame" => Frame,
            b"base" => Base,
            b"link" => Link,
            b"meta" => Meta,
            b"title" => Title,
            b"textarea" => Textarea,
            b"xmp" => Xmp,
            b"script" => Script,
            b"style" => Style,
            b"noscript" => Noscript,
            b"iframe" => Iframe,
            b"noembed" => Noembed,
            b"noframes" => Noframes,
            b"svg" => Svg,
            b"template" => Template,
            b"object" | b"applet" => Object,
            b"video" => Video,
            b"audio" => Audio,
            b"canvas" => Canvas,
            b"datalist" => Datalist,
            b"rp" => RubyParenthesis,
            b"math" => Math,
            b"nav" => Nav,
            b"header" => Header,
            b"footer" => Footer,
            b"aside" => Aside,
            b"form" => Form,
            b"button" => Button,
            b"select" => Select,
            b"label" => Label,
            b"input" => Input,
            b"main" => Main,
            b"article" => Article,
            b"dialog" => Dialog,
            b"menu" => Menu,
            b"figure" => Figure,
            b"section" => Section,
        }
        Element::Inline
    }

    /// The element with this lower-case name of more than eight bytes.
    pub(super) fn from_long_name(name: &[u8]) -> Self {
        match name {
            b"blockquote" => Self::Block,
            b"plaintext" => Self::Plaintext,
            b"annotation" => Self::Annotation,
            b"annotation-xml" => Self::AnnotationXml,
            b"foreignobject" => Self::ForeignObject,
            b"figcaption" => Self::Figcaption,
            _ => Self::Inline,
        }
    }

    /// Whether its tags separate words.
    #[inline]
    pub(super) fn separates(self) -> bool {
        use Element::*;
        !matches!(
            self,
            Inline
                | A
                | Base
                | Link
                | Meta
                | Script
                | Style
                | Noscript
                | Noembed
                | Template
                | Datalist
                | Annotation
                | AnnotationXml
                | Math
                | Label
                | Span
        )
    }

    /// Whether its tags begin a new block of text.
    pub(super) fn breaks_block(self) -> bool {
        use Element::*;
        self.separates()
            && !matches!(self, Gap | Button | Select | Input | Textarea | RubyParenthesis | Svg)
    }

    /// Whether it stays open around blocks until its end tag.
    pub(super) fn is_container(self) -> bool {
        use Element::*;
        matches!(
            self,
            Block
                | Nav
                | Header
                | Footer
                | Aside
                | Form
                | Main
                | Article
                | Section
                | Dialog
                | Menu
                | Figure
                | Figcaption
                | Div
                | Ul
                | Ol
                | Table
                | Td
                | ListItem
        )
    }

    /// Whether its contents are skipped up to the matching end tag, by counting its own tags.
    pub(super) fn is_skipped(self) -> bool {
        use Element::*;
        matches!(
            self,
            Svg | Template
                | Object
                | Video
                | Audio
                | Canvas
                | Datalist
                | Annotation
                | AnnotationXml
                | RubyParenthesis
        )
    }

    /// The end tag that closes it, if its contents are not markup.
    pub(super) fn raw_text_name(self) -> Option<&'static [u8]> {
        use Element::*;
        Some(match self {
            Title => b"title",
            Textarea => b"textarea",
            Xmp => b"xmp",
            Script => b"script",
            Style => b"style",
            Noscript => b"noscript",
            Iframe => b"iframe",
            Noembed => b"noembed",
            Noframes => b"noframes",
            _ => return None,
        })
    }

    /// Whether the tag can only be HTML, so that it ends an unclosed image or formula.
    pub(super) fn breaks_out_of_foreign(self) -> bool {
        use Element::*;
        matches!(
            self,
            Block
                | Paragraph
                | Heading
                | ListItem
                | Body
                | Head
                | Meta
                | Nav
                | Header
                | Footer
                | Aside
                | Form
                | Main
                | Article
                | Section
                | Dialog
                | Menu
                | Figcaption
                | Figure
                | Div
                | Span
                | Ul
                | Ol
                | Table
                | Td
        )
    }
}

/// Maximum length of a packed name.
pub(super) const PACKED_LENGTH: usize = 8;

/// A name of at most eight bytes as a number, first byte highest.
fn pack(name: &[u8]) -> Option<u64> {
    (name.len() <= PACKED_LENGTH).then(|| pack_short(name))
}

const fn pack_short(name: &[u8]) -> u64 {
    assert!(name.len() <= PACKED_LENGTH);
    let mut packed = 0;
    let mut at = 0;
    while at < name.len() {
        packed = packed << 8 | name[at] as u64;
        at += 1;
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_are_known_and_others_are_inline() {
        for (name, element) in [
            ("a", Element::A),
            ("p", Element::Paragraph),
            ("h6", Element::Heading),
            ("th", Element::Td),
            ("textarea", Element::Textarea),
            ("plaintext", Element::Plaintext),
            ("blockquote", Element::Block),
            ("annotation-xml", Element::AnnotationXml),
            ("", Element::Inline),
            ("h7", Element::Inline),
            ("divx", Element::Inline),
            ("textareaa", Element::Inline),
            ("atextarea", Element::Inline),
        ] {
            assert_eq!(Element::from_name(name.as_bytes()), element, "{name}");
        }
    }
}
