//! Markdown as GitHub reads it.

use comrak::nodes::NodeValue;
use comrak::{Arena, Options, format_html, parse_document};

use super::escaped;

/// Tags that may stand in a comment, without attributes but `open`.
const TAGS: [&str; 9] = ["details", "details open", "summary", "sub", "sup", "br", "b", "kbd", "hr"];
/// How an address may begin.
const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "#"];

/// Markdown as HTML. HTML in it is shown as text, but for comments and a few tags.
pub(super) fn html(text: &str) -> String {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    // What may not stand there is escaped below.
    options.render.r#unsafe = true;
    let arena = Arena::new();
    let root = parse_document(&arena, text, &options);
    for node in root.descendants() {
        match &mut node.data.borrow_mut().value {
            NodeValue::HtmlBlock(block) => block.literal = tamed(&block.literal),
            NodeValue::HtmlInline(literal) => *literal = tamed(literal),
            NodeValue::Link(link) | NodeValue::Image(link) if !is_harmless(&link.url) => link.url.clear(),
            _ => {}
        }
    }
    let mut html = String::new();
    // Writing to a text does not fail.
    let _ = format_html(root, &options, &mut html);
    html
}

fn is_harmless(url: &str) -> bool {
    SCHEMES.iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme))
}

/// HTML without comments, in which only known tags are left.
fn tamed(mut html: &str) -> String {
    let mut out = String::new();
    while let Some(at) = html.find('<') {
        out.push_str(&html[..at].replace('>', "&gt;"));
        html = &html[at..];
        if html.starts_with("<!--") {
            html = html.find("-->").map_or("", |end| &html[end + 3..]);
            continue;
        }
        let end = html.find('>').map_or(html.len(), |end| end + 1);
        let tag = &html[..end];
        let inner = tag.trim_start_matches('<').trim_end_matches('>').trim_matches(['/', ' ']);
        if tag.ends_with('>') && TAGS.contains(&inner.to_ascii_lowercase().as_str()) {
            out.push_str(tag);
            html = &html[end..];
        } else {
            out.push_str(&escaped("<"));
            html = &html[1..];
        }
    }
    out + &html.replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn what_may_stand_in_a_comment() {
        for (text, expected) in [
            ("**a**", "<strong>a</strong>"),
            ("| a |\n|---|\n| 1 |", "<td>1</td>"),
            ("<!-- marker -->\ntext", "text"),
            ("<details><summary>more</summary>\n\n*x*\n\n</details>", "<details><summary>more</summary>"),
            ("H<sub>2</sub>O", "H<sub>2</sub>O"),
        ] {
            assert!(html(text).contains(expected), "{text}: {}", html(text));
        }
        for (text, forbidden) in [
            ("<script>alert(1)</script>", "<script"),
            ("a <img src=x onerror=alert(1)> b", "<img"),
            ("<details onclick=alert(1)>x", "<details"),
            ("<sub\nonclick=alert(1)>x", "<sub"),
            ("[a](javascript:alert(1))", "javascript:"),
            ("[a](JaVaScRiPt:alert(1))", "alert"),
            ("<!-- marker -->", "marker"),
        ] {
            assert!(!html(text).contains(forbidden), "{text}: {}", html(text));
        }
    }
}
