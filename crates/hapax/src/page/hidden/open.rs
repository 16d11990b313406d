//! Tracks the open elements of a page, and whether text inside them is hidden.
//!
//! A start tag opens an element unless it is void or self-closing, after closing what it implies (a paragraph,
//! a list item, a cell). An end tag closes the innermost open element of its name and everything inside, within
//! the standard's scopes; without such an element it is ignored. Formatting elements (`b`, `a`, `font`, ...)
//! closed by another element's tag are reopened. Stores at most [`MAX_DEPTH`] elements, as in Chromium, and
//! counts deeper ones, so each tag takes bounded time.

use super::names::{self, Closes};
use crate::page::element::Element;

/// Maximum number of open elements to track.
pub(super) const MAX_DEPTH: usize = 512;

/// The effect of an element on the text inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page) struct Effect(u8);

impl Effect {
    pub(in crate::page) const NONE: Self = Self(0);
    /// Takes no space, so that the words on both sides may join.
    pub(in crate::page) const GONE: Self = Self(1);
    /// Not visible, whatever elements inside declare.
    pub(in crate::page) const UNSEEN: Self = Self(2);
    /// Not visible by `visibility`, which elements inside may override.
    pub(in crate::page) const INVISIBLE: Self = Self(4);
    pub(in crate::page) const VISIBLE: Self = Self(8);
    /// A font without size, which elements inside may override.
    pub(in crate::page) const NO_FONT: Self = Self(16);
    pub(in crate::page) const FONT: Self = Self(32);

    pub(in crate::page) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The state inside an element with this effect, given the state of its parent. States consist
    /// of the hiding bits.
    #[inline]
    fn inside(self, parent: Self) -> Self {
        if self == Self::NONE {
            return parent;
        }
        let undone = (self.0 & (Self::VISIBLE.0 | Self::FONT.0)) >> 1;
        let hiding = Self::GONE.0 | Self::UNSEEN.0 | Self::INVISIBLE.0 | Self::NO_FONT.0;
        Self((parent.0 & !undone) | (self.0 & hiding))
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    name: u64,
    special: bool,
    effect: Effect,
    /// The state of text inside it.
    state: Effect,
}

/// The effect of a tag on the words around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page) enum Separation {
    /// As defined by its element.
    Usual,
    /// Separates, because something invisible takes space.
    Always,
    /// Does not separate, because the element is not displayed.
    Never,
}

#[derive(Debug)]
pub(in crate::page) struct OpenElements {
    stack: Vec<Open>,
    /// Number of elements on the stack by a part of the hash of their name.
    counts: [u16; 64],
    /// Number of elements beyond the stack's limit, and the first of them that hides.
    deeper: usize,
    hidden_from: Option<(usize, Effect)>,
    state: Effect,
}

impl OpenElements {
    pub(in crate::page) fn new() -> Self {
        Self {
            stack: Vec::new(),
            counts: [0; 64],
            deeper: 0,
            hidden_from: None,
            state: Effect::NONE,
        }
    }

    pub(in crate::page) fn reset(&mut self) {
        self.stack.clear();
        *self = Self { stack: std::mem::take(&mut self.stack), ..Self::new() };
    }

    /// Whether text at this point is hidden.
    #[inline]
    pub(in crate::page) fn hides(&self) -> bool {
        self.state != Effect::NONE
    }

    /// Handles a start tag. `holds` says whether it opens an element.
    #[inline]
    pub(in crate::page) fn start(
        &mut self,
        element: Element,
        name: u64,
        effect: Effect,
        holds: bool,
    ) -> Separation {
        // Whether the tag ends a displayed element; that separates words whatever the tag itself
        // does.
        let mut ends = false;
        if self.deeper == 0 {
            if self.may_have(names::PARAGRAPH) && names::closes_paragraph(element, name) {
                ends |= self.close_paragraph();
            }
            if element == Element::A && self.may_have(names::LINK) {
                self.end(element, name);
            }
            if element == Element::Heading
                && self.stack.last().is_some_and(|top| names::is_heading(top.name))
            {
                ends |= self.close_from(self.stack.len() - 1);
            }
            let closes = names::closed_by_start(element, name);
            if closes != Closes::Nothing {
                ends |= self.close_implied(closes);
            }
        }
        let state = effect.inside(self.state);
        if holds {
            if self.stack.len() < MAX_DEPTH && self.deeper == 0 {
                self.push(Open { name, special: names::is_special(element), effect, state });
            } else {
                self.deeper += 1;
                if effect != Effect::NONE && self.hidden_from.is_none() {
                    self.hidden_from = Some((self.deeper, self.state));
                    self.state = state;
                }
            }
        }
        if ends {
            Separation::Always
        } else if state.has(Effect::GONE) {
            Separation::Never
        } else if effect.has(Effect::UNSEEN.and(Effect::INVISIBLE)) {
            Separation::Always
        } else {
            Separation::Usual
        }
    }

    #[inline]
    pub(in crate::page) fn end(&mut self, element: Element, name: u64) -> Separation {
        let state = if self.deeper > 0 {
            self.end_deeper()
        } else if self.stack.last().is_some_and(|top| top.name == name) {
            self.pop().state
        } else {
            self.end_not_innermost(element, name)
        };
        if state.has(Effect::GONE) { Separation::Never } else { Separation::Usual }
    }

    fn end_deeper(&mut self) -> Effect {
        let state = self.state;
        if let Some((depth, before)) = self.hidden_from
            && depth == self.deeper
        {
            self.hidden_from = None;
            self.state = before;
        }
        self.deeper -= 1;
        state
    }

    /// Returns the state inside the closed element.
    fn end_not_innermost(&mut self, element: Element, name: u64) -> Effect {
        let is_heading = names::is_heading(name);
        if !(is_heading || self.may_have(name)) {
            return self.state;
        }
        let formatting = names::formatting(name).is_some();
        let special = names::is_special(element);
        let part = names::is_table_part(name);
        let mut blocked = false;
        for at in (0..self.stack.len()).rev() {
            let open = self.stack[at];
            if open.name == name || (is_heading && names::is_heading(open.name)) {
                if formatting && blocked {
                    self.remove(at);
                } else {
                    self.close_from(at);
                }
                return open.state;
            }
            let stops = match (part, formatting || special) {
                (true, _) => open.name == const { names::name_of(b"table") },
                (false, true) => names::bounds_scope(open.name),
                (false, false) => open.special,
            };
            if stops
                || (name == names::PARAGRAPH && open.name == const { names::name_of(b"button") })
            {
                break;
            }
            blocked |= open.special;
        }
        self.state
    }

    fn close_paragraph(&mut self) -> bool {
        for at in (0..self.stack.len()).rev() {
            let name = self.stack[at].name;
            if name == names::PARAGRAPH {
                return self.close_from(at);
            }
            if names::bounds_scope(name) || name == const { names::name_of(b"button") } {
                return false;
            }
        }
        false
    }

    fn close_implied(&mut self, closes: Closes) -> bool {
        let wanted: &[u64] = match &closes {
            Closes::Nothing => return false,
            Closes::ItemsLike(names) => names,
            Closes::Row(names) | Closes::InScope(names) => names,
        };
        if !wanted.iter().any(|&name| self.may_have(name)) {
            return false;
        }
        let mut found = None;
        for at in (0..self.stack.len()).rev() {
            let open = self.stack[at];
            if wanted.contains(&open.name) {
                found = Some(at);
                if !matches!(closes, Closes::Row(_)) {
                    break;
                }
            } else {
                let stops = match closes {
                    Closes::Row(_) => open.name == const { names::name_of(b"table") },
                    Closes::InScope(_) => names::bounds_scope(open.name),
                    _ => open.special && !names::is_item_wrapper(open.name),
                };
                if stops {
                    break;
                }
            }
        }
        found.is_some_and(|at| self.close_from(at))
    }

    /// Closes the element at `at` and everything inside. Reopens formatting elements inside; of
    /// those without effect at most three per name, as in the standard. Returns whether the closed
    /// element was displayed.
    fn close_from(&mut self, at: usize) -> bool {
        let displayed = !self.stack[at].state.has(Effect::GONE);
        let reopens = !names::bounds_scope(self.stack[at].name);
        let mut reopened = [0; 14];
        let mut kept = at;
        self.count(self.stack[at].name, false);
        for from in at + 1..self.stack.len() {
            let open = self.stack[from];
            let again = names::formatting(open.name).filter(|_| reopens).is_some_and(|which| {
                reopened[which] += usize::from(open.effect == Effect::NONE);
                open.effect != Effect::NONE || reopened[which] <= 3
            });
            if again {
                self.stack[kept] = open;
                kept += 1;
            } else {
                self.count(open.name, false);
            }
        }
        self.stack.truncate(kept);
        self.restate(at);
        displayed
    }

    /// Removes one element and leaves those inside it open.
    fn remove(&mut self, at: usize) {
        let open = self.stack.remove(at);
        self.count(open.name, false);
        self.restate(at);
    }

    fn restate(&mut self, from: usize) {
        let mut state = from.checked_sub(1).map_or(Effect::NONE, |parent| self.stack[parent].state);
        for open in &mut self.stack[from..] {
            state = open.effect.inside(state);
            open.state = state;
        }
        self.state = state;
    }

    #[inline]
    fn push(&mut self, open: Open) {
        self.count(open.name, true);
        self.state = open.state;
        self.stack.push(open);
    }

    #[inline]
    fn pop(&mut self) -> Open {
        let open = self.stack.pop().unwrap_or(Open {
            name: 0,
            special: false,
            effect: Effect::NONE,
            state: Effect::NONE,
        });
        self.count(open.name, false);
        self.state = self.stack.last().map_or(Effect::NONE, |top| top.state);
        open
    }

    #[inline]
    fn may_have(&self, name: u64) -> bool {
        self.counts[bucket(name)] > 0
    }

    #[inline]
    fn count(&mut self, name: u64, opens: bool) {
        let count = &mut self.counts[bucket(name)];
        *count = if opens { *count + 1 } else { count.saturating_sub(1) };
    }
}

#[inline]
fn bucket(name: u64) -> usize {
    (name.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize
}
