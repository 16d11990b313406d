//! What an element's name, role, class and id indicate about its contents.
//!
//! Names in `class` and `id` are split into words: `article-navBar_2` is article, nav, bar. A word such as
//! *sidebar* is only a hint, because pages also use `class="page with-sidebar"` around everything;
//! [`content`](super::content) checks it.

use super::attributes::{Attribute, Attributes};
use super::element::Element;

/// An indication about the contents of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Not the main content, by the meaning of the element or its role.
    Aside,
    /// Probably not the main content, by a name of the author's choice.
    Hint,
    /// Decoration that screen readers skip.
    Decoration,
    /// The main content, or one of several articles.
    Article,
    /// The main content of the page.
    Main,
    /// The text of the article, by schema.org markup.
    ArticleBody,
}

/// The strongest mark on the tag of a block-level element.
pub(super) fn mark_of(element: Element, attributes: &Attributes) -> Option<Mark> {
    let get = |attribute| attributes.get(attribute);
    if get(Attribute::AriaHidden).is_some_and(|value| value.eq_ignore_ascii_case(b"true")) {
        return Some(Mark::Decoration);
    }
    if get(Attribute::Itemprop).is_some_and(|value| has_word(value, b"articleBody")) {
        return Some(Mark::ArticleBody);
    }
    match get(Attribute::Role).map(<[u8]>::trim_ascii) {
        Some(
            b"navigation" | b"banner" | b"contentinfo" | b"complementary" | b"search" | b"menu"
            | b"menubar" | b"dialog" | b"alertdialog" | b"toolbar" | b"tablist",
        ) => return Some(Mark::Aside),
        Some(b"main") => return Some(Mark::Main),
        Some(b"article") => return Some(Mark::Article),
        _ => {}
    }
    match element {
        Element::Nav
        | Element::Figcaption
        | Element::Footer
        | Element::Aside
        | Element::Dialog
        | Element::Menu
        | Element::Header => return Some(Mark::Aside),
        Element::Main => return Some(Mark::Main),
        Element::Article => return Some(Mark::Article),
        // Marks of the body would apply to everything.
        Element::Body | Element::Html => return None,
        _ => {}
    }
    let hinted = [Attribute::Class, Attribute::Id]
        .into_iter()
        .filter_map(get)
        .any(|value| words(value).any(is_hint));
    hinted.then_some(Mark::Hint)
}

fn has_word(value: &[u8], word: &[u8]) -> bool {
    value.split(u8::is_ascii_whitespace).any(|found| found == word)
}

/// The words of a class or id: runs of letters, split before capitals that follow small letters.
fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| !byte.is_ascii_alphabetic())
        .flat_map(|run| {
            run.chunk_by(|left, right| !(left.is_ascii_lowercase() && right.is_ascii_uppercase()))
        })
        .filter(|word| !word.is_empty())
}

fn is_hint(word: &[u8]) -> bool {
    let mut lower = [0; 16];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    matches!(
        &*lower,
        b"nav"
            | b"navbar"
            | b"navbox"
            | b"navi"
            | b"navigation"
            | b"menu"
            | b"menus"
            | b"sidebar"
            | b"sidenav"
            | b"topnav"
            | b"footer"
            | b"foot"
            | b"footnav"
            | b"header"
            | b"masthead"
            | b"breadcrumb"
            | b"breadcrumbs"
            | b"comment"
            | b"comments"
            | b"commentlist"
            | b"disqus"
            | b"share"
            | b"shares"
            | b"sharing"
            | b"sharebar"
            | b"social"
            | b"socials"
            | b"cookie"
            | b"cookies"
            | b"consent"
            | b"gdpr"
            | b"banner"
            | b"banners"
            | b"ad"
            | b"ads"
            | b"advert"
            | b"adverts"
            | b"advertisement"
            | b"advertising"
            | b"advertorial"
            | b"adsense"
            | b"sponsor"
            | b"sponsored"
            | b"sponsors"
            | b"promo"
            | b"promos"
            | b"promotion"
            | b"related"
            | b"recommended"
            | b"recommend"
            | b"recommendations"
            | b"newsletter"
            | b"subscribe"
            | b"subscription"
            | b"signup"
            | b"signin"
            | b"login"
            | b"register"
            | b"popup"
            | b"modal"
            | b"overlay"
            | b"widget"
            | b"widgets"
            | b"pagination"
            | b"pager"
            | b"paging"
            | b"toolbar"
            | b"tags"
            | b"taglist"
            | b"taboola"
            | b"outbrain"
            | b"trending"
            | b"popular"
            | b"teaser"
            | b"teasers"
            | b"copyright"
            | b"legal"
            | b"disclaimer"
            | b"skip"
            | b"hidden"
            | b"noprint"
            | b"tooltip"
            | b"dropdown"
            | b"flyout"
            | b"carousel"
            | b"slideshow"
            | b"bottom"
            | b"more"
            | b"rail"
            | b"byline"
            | b"meta"
            | b"caption"
            | b"captions"
            | b"gallery"
            | b"credit"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(element: Element, pairs: &[(&str, &str)]) -> Option<Mark> {
        let mut attributes = Attributes::new(1000);
        for (name, value) in pairs {
            attributes.set(name.as_bytes(), value.as_bytes());
        }
        mark_of(element, &attributes)
    }

    #[test]
    fn names_are_compared_word_by_word() {
        for class in ["sidebar", "left-sidebar", "siteNav", "x Footer_2", "AD-slot", "nav"] {
            assert_eq!(mark(Element::Div, &[("class", class)]), Some(Mark::Hint), "{class}");
            assert_eq!(mark(Element::Section, &[("id", class)]), Some(Mark::Hint), "{class}");
        }
        for class in
            ["", "content", "navy", "unrelated", "headers", "adapter", "shadow", "commentary"]
        {
            assert_eq!(mark(Element::Div, &[("class", class)]), None, "{class}");
        }
        assert_eq!(mark(Element::Body, &[("class", "sidebar")]), None);
    }

    #[test]
    fn elements_roles_and_markup_say_more_than_names() {
        assert_eq!(mark(Element::Nav, &[]), Some(Mark::Aside));
        assert_eq!(mark(Element::Div, &[("role", "navigation")]), Some(Mark::Aside));
        assert_eq!(mark(Element::Div, &[("role", "main"), ("class", "menu")]), Some(Mark::Main));
        assert_eq!(mark(Element::Div, &[("itemprop", "x articleBody")]), Some(Mark::ArticleBody));
        assert_eq!(mark(Element::Article, &[]), Some(Mark::Article));
        assert_eq!(mark(Element::Main, &[("aria-hidden", "true")]), Some(Mark::Decoration));
    }
}
