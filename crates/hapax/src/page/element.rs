//! Tag names, and what each one means for the text.
//!
//! Names that mean nothing here are [`Element::Inline`], as browsers treat unknown elements.
//!
//! Source: the HTML standard's rendering section for which elements are blocks.

/// What a tag does to the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// Nothing: its words run on. Also every unknown element.
    Inline,
    /// Separates words, and begins or ends a block of text.
    Block,
    /// Separates words inside a block: line breaks, cells, images, controls.
    Gap,
    /// `<p>`, `<h1>`..`<h6>`, `<li>`: blocks that main-content extraction looks at.
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
    /// Markup that is text to a browser that runs scripts, and shows none of it.
    Noscript,
    Iframe,
    Noembed,
    Noframes,
    /// Contents are never shown, or only where something else cannot be.
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
    /// The parenthesis shown only where ruby text is not.
    RubyParenthesis,
    Math,
    /// The part of an image that holds HTML.
    ForeignObject,
    /// From here on: blocks and controls that main-content extraction tells apart.
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
    /// The element with this lower-case name.
    pub(super) fn from_name(name: &[u8]) -> Self {
        use Element::*;
        match name {
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
            b"dd" | b"dl" | b"dt" | b"tr" | b"pre" | b"center" | b"tbody" | b"thead" | b"tfoot"
            | b"address" | b"caption" | b"colgroup" | b"blockquote" | b"details" | b"fieldset"
            | b"frameset" | b"hgroup" | b"legend" | b"listing" | b"marquee" | b"search"
            | b"summary" => Block,
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
            b"plaintext" => Plaintext,
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
            b"annotation" => Annotation,
            b"annotation-xml" => AnnotationXml,
            b"rp" => RubyParenthesis,
            b"math" => Math,
            b"foreignobject" => ForeignObject,
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
            b"figcaption" => Figcaption,
            b"figure" => Figure,
            b"section" => Section,
            _ => Inline,
        }
    }

    /// Whether words before and after its tags are different words.
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

    /// Whether its contents are skipped by counting its own tags up to the matching one.
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

    /// The end tag that closes it, when its contents are not markup.
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

    /// Whether its start or end tag can only be HTML, so that it ends an image or a formula
    /// that was never closed.
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
