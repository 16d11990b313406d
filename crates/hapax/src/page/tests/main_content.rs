//! Which blocks the main content consists of.

use super::{main_text_of, text_of};

/// Paragraphs of running text, distinguished by their first word.
fn article(words: &[&str]) -> String {
    let sentence = "is the first word of a paragraph that goes on for long enough to be taken for \
        running text by anybody who reads it from the beginning to the end";
    words.iter().map(|word| format!("<p>{word} {sentence}.</p>")).collect()
}

fn menu(count: usize) -> String {
    (0..count).map(|number| format!("<li><a href=/{number}>Menu entry {number}</a></li>")).collect()
}

#[test]
fn an_article_is_extracted_from_its_frame() {
    let body = article(&["Alpha", "Beta", "Gamma"]);
    let expected = text_of(&body);
    let menu = menu(8);
    for page in [
        format!("<nav>{menu}</nav>{body}<footer>All rights reserved by somebody</footer>"),
        format!("<header><p>Our site has a motto of some length</p></header>{body}"),
        format!(
            "<div class=site-nav>{menu}</div><div id=text>{body}</div><div id=sidebar><p>More words</div>"
        ),
        format!("<ul>{menu}</ul><div>{body}</div><ul>{menu}</ul>"),
        format!("<table><tr><td id=leftMenu>{menu}<td>{body}<td class=ads>Buy this</table>"),
        format!("<div role=banner>Welcome to the site</div><main>{body}</main><p>Signature</p>"),
        format!(
            "<div>{menu}</div>{body}<aside><p>Another story that could be read, of about fifteen words or more, by you</aside>"
        ),
        format!(
            "{body}<div hidden><p>Words that nobody sees but that are many enough to be content</div>"
        ),
        format!(
            "{body}<form><select><option>one<option>two</select><button>Go</button><textarea>x</textarea></form>"
        ),
    ] {
        assert_eq!(main_text_of(&page), expected, "{page}");
    }
}

#[test]
fn a_hint_around_everything_is_ignored() {
    let body = article(&["Alpha", "Beta"]);
    let page = format!("<div class='page with-sidebar'><ul>{}</ul>{body}</div>", menu(5));
    assert_eq!(main_text_of(&page), text_of(&body));
}

#[test]
fn a_heading_and_a_line_between_paragraphs_stay() {
    let page = format!(
        "<ul>{}</ul><h1>Headline of the story today</h1>{}<h2>Short</h2>{}",
        menu(5),
        article(&["Alpha"]),
        article(&["Beta"])
    );
    let text = main_text_of(&page);
    assert!(text.starts_with("Headline") && text.contains(" Short Beta "), "{text}");
}

#[test]
fn links_between_paragraphs_are_dropped_and_links_inside_are_kept() {
    let page = format!(
        "{}<p><a href=/x>Read also this other story</a></p><p>Beta is a paragraph with <a href=/y>a \
         link</a> in the middle, and enough other words to be read.</p>{}",
        article(&["Alpha"]),
        article(&["Gamma"])
    );
    let text = main_text_of(&page);
    assert!(!text.contains("Read also") && text.contains("with a link in the middle"), "{text}");
    assert!(text.starts_with("Alpha") && text.contains("Gamma"));
}

#[test]
fn running_text_far_away_is_dropped() {
    let comments: String =
        (0..6).map(|n| format!("<p>Comment {n}: I agree a lot.</p><ul>{}</ul>", menu(6))).collect();
    let page = format!("{}<ul>{}</ul>{comments}", article(&["Alpha", "Beta", "Gamma"]), menu(10));
    assert_eq!(main_text_of(&page), text_of(&article(&["Alpha", "Beta", "Gamma"])));
}

#[test]
fn unspaced_scripts_count_by_characters() {
    let body =
        "<p>这是一个很长的段落，里面有很多汉字，但是没有任何空格，所以不能按空格来数单词。</p>"
            .repeat(3);
    let page = format!("<div class=menu>{}</div>{body}<ul>{}</ul>", menu(3), menu(9));
    assert_eq!(main_text_of(&page), text_of(&body));
}

#[test]
fn a_page_without_an_article_keeps_its_body() {
    for page in [
        "<nav><a href=/>Home</a></nav>".to_owned(),
        format!("<ul>{}</ul>", menu(10)),
        "<p>Hello</p>".to_owned(),
        "<header>Only a header</header><footer>and a footer</footer>".to_owned(),
        String::new(),
    ] {
        assert_eq!(main_text_of(&page), text_of(&page), "{page}");
    }
}

#[test]
fn missing_and_stray_end_tags_do_not_lose_the_article() {
    let body = article(&["Alpha", "Beta"]);
    let expected = text_of(&body);
    for page in [
        format!("<ul class=menu><li>One<li>Two</ul>{body}"),
        format!("</div></nav></ul><div class=menu><ul>{}</div>{body}", menu(3)),
        format!("<table><tr><td class=nav>Site<td>{body}"),
    ] {
        assert_eq!(main_text_of(&page), expected, "{page}");
    }
}
