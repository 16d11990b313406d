//! Stores the relevant attributes of the current tag.
//!
//! Values live in buffers that are reused for every tag. If an attribute occurs twice, the first counts, as in
//! browsers. A value longer than the limit counts as empty.

/// An attribute used by some rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Href,
    Src,
    Rel,
    Content,
    HttpEquiv,
    Lang,
    Class,
    Id,
    Role,
    Hidden,
    AriaHidden,
    Style,
    Itemprop,
    Open,
    Media,
}

const COUNT: usize = Attribute::Media as usize + 1;
const MAX_NAME: usize = 12;

impl Attribute {
    /// The attribute with this name, in any case; `None` if it is not relevant.
    fn from_name(name: &[u8]) -> Option<Self> {
        let mut lower = [0; MAX_NAME];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        Some(match &*lower {
            b"href" => Self::Href,
            b"src" => Self::Src,
            b"rel" => Self::Rel,
            b"content" => Self::Content,
            b"http-equiv" => Self::HttpEquiv,
            b"lang" | b"xml:lang" => Self::Lang,
            b"class" => Self::Class,
            b"id" => Self::Id,
            b"role" => Self::Role,
            b"hidden" => Self::Hidden,
            b"aria-hidden" => Self::AriaHidden,
            b"style" => Self::Style,
            b"itemprop" => Self::Itemprop,
            b"open" => Self::Open,
            b"media" => Self::Media,
            _ => return None,
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Attributes {
    values: [Vec<u8>; COUNT],
    /// A bit per attribute of the tag.
    present: u32,
    max_value_bytes: usize,
    /// The name being read by the tokenizer, and the attribute its value belongs to once known.
    name: Vec<u8>,
    name_is_open: bool,
    current: Option<Attribute>,
}

impl Attributes {
    pub(super) fn new(max_value_bytes: usize) -> Self {
        Self { max_value_bytes, ..Self::default() }
    }

    /// Removes the attributes of the previous tag.
    pub(super) fn clear(&mut self) {
        self.present = 0;
        self.name_is_open = false;
        self.current = None;
    }

    /// Whether the tag has any relevant attribute.
    pub(super) fn any(&self) -> bool {
        self.present != 0
    }

    /// The value of an attribute; `None` if the tag does not have it.
    pub(super) fn get(&self, attribute: Attribute) -> Option<&[u8]> {
        let index = attribute as usize;
        (self.present >> index & 1 == 1).then_some(self.values[index].as_slice())
    }

    /// Adds a complete attribute. `false` if the value needs the tokenizer (such as character
    /// references).
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) -> bool {
        if let Some(attribute) = Attribute::from_name(name) {
            if value.iter().any(|byte| matches!(byte, b'&' | b'\0' | b'\r')) {
                return false;
            }
            self.start(attribute);
            self.push_value(value);
        }
        true
    }

    /// Begins another attribute from the tokenizer.
    pub(super) fn open(&mut self) {
        self.finish();
        self.name.clear();
        self.name_is_open = true;
    }

    pub(super) fn push_name(&mut self, piece: &[u8]) {
        if self.name.len() <= MAX_NAME {
            self.name.extend_from_slice(&piece[..piece.len().min(MAX_NAME + 1)]);
        }
    }

    pub(super) fn push_value(&mut self, piece: &[u8]) {
        self.finish_name();
        if let Some(attribute) = self.current {
            let value = &mut self.values[attribute as usize];
            if value.len() + piece.len() <= self.max_value_bytes {
                value.extend_from_slice(piece);
            } else {
                value.clear();
                self.current = None;
            }
        }
    }

    pub(super) fn finish(&mut self) {
        self.finish_name();
        self.current = None;
    }

    fn finish_name(&mut self) {
        if self.name_is_open {
            self.name_is_open = false;
            self.current = None;
            if let Some(attribute) = Attribute::from_name(&self.name) {
                self.start(attribute);
            }
        }
    }

    fn start(&mut self, attribute: Attribute) {
        let index = attribute as usize;
        let is_first = self.present >> index & 1 == 0;
        self.current = is_first.then_some(attribute);
        if is_first {
            self.present |= 1 << index;
            self.values[index].clear();
        }
    }
}
