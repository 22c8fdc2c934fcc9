//! Markdown as GitHub reads it, with nothing in it that a browser would execute.
//!
//! What was written as HTML is taken apart: a few tags without attributes stay, everything else is shown as text. What
//! comes of it is nested strictly, so that no tag of a comment can end, or outlive, the box that it is shown in.

use comrak::nodes::NodeValue;
use comrak::{Arena, Options, format_html, parse_document};

/// Tags that may stand in a comment, without attributes.
const TAGS: [&str; 21] = [
    "details",
    "summary",
    "sub",
    "sup",
    "br",
    "b",
    "strong",
    "i",
    "em",
    "s",
    "del",
    "ins",
    "code",
    "kbd",
    "samp",
    "pre",
    "q",
    "hr",
    "p",
    "blockquote",
    "tt",
];
/// Tags that have no end.
const VOID: [&str; 4] = ["br", "hr", "img", "input"];
/// How an address may begin.
const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "#"];

/// Markdown as HTML. Pictures are links to them: nothing is fetched from elsewhere.
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
        let value = &mut node.data.borrow_mut().value;
        if let NodeValue::Image(image) = value {
            *value = NodeValue::Link(image.clone());
        }
        match value {
            NodeValue::HtmlBlock(block) => block.literal = tamed(&block.literal),
            NodeValue::HtmlInline(literal) => *literal = tamed(literal),
            NodeValue::Link(link) if !is_harmless(&link.url) => link.url.clear(),
            _ => {}
        }
    }
    let mut html = String::new();
    // Writing to a text does not fail.
    let _ = format_html(root, &options, &mut html);
    nested(&html)
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
        if let Some(tag) = known(&html[..end]) {
            out.push_str(&tag);
            html = &html[end..];
        } else {
            out.push_str("&lt;");
            html = &html[1..];
        }
    }
    out + &html.replace('>', "&gt;")
}

/// A tag that may stand there, written anew.
fn known(tag: &str) -> Option<String> {
    let inner = tag.strip_prefix('<')?.strip_suffix('>')?;
    let (slash, inner) = inner.strip_prefix('/').map_or(("", inner), |inner| ("/", inner));
    let name = inner.trim_end_matches(['/', ' ']).to_ascii_lowercase();
    let is_known = TAGS.contains(&name.as_str()) || (slash.is_empty() && name == "details open");
    is_known.then(|| format!("<{slash}{name}>"))
}

/// HTML in which every end belongs to a beginning, and the other way round. Each `<` begins a tag, and no value of an
/// attribute has a `>`.
fn nested(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(end) = rest.find('>') else { break };
        let (tag, after) = rest.split_at(end + 1);
        rest = after;
        let word = tag[1..].trim_start_matches('/');
        let name = &word[..word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len())];
        if !tag.starts_with("</") {
            out.push_str(tag);
            if !VOID.contains(&name) {
                open.push(name);
            }
        } else if let Some(place) = open.iter().rposition(|known| *known == name) {
            close(&mut out, open.split_off(place));
        }
    }
    out.push_str(&rest.replace('<', "&lt;"));
    close(&mut out, open);
    out
}

fn close(out: &mut String, open: Vec<&str>) {
    for name in open.into_iter().rev() {
        out.push_str("</");
        out.push_str(name);
        out.push('>');
    }
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
            ("<details open>\n\nx\n\n</details>", "<details open>"),
            ("H<sub>2</sub>O", "H<sub>2</sub>O"),
            ("a <BR/> b", "a <br> b"),
            ("![logo](https://example.com/a.png)", "<a href=\"https://example.com/a.png\">logo</a>"),
        ] {
            assert!(html(text).contains(expected), "{text}: {}", html(text));
        }
    }

    /// Nothing of these is a tag or an attribute or an address afterwards; what can be read stays readable.
    #[test]
    fn nothing_is_executed() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>"),
            ("<details onclick=alert(1)>x", "&lt;details onclick=alert(1)&gt;x"),
            ("<sub\nonclick=alert(1)>x", "<p>&lt;sub\nonclick=alert(1)&gt;x</p>"),
            ("a <svg/onload=alert(1)>", "<p>a &lt;svg/onload=alert(1)&gt;</p>"),
            ("<iframe src=javascript:alert(1)>", "&lt;iframe src=javascript:alert(1)&gt;"),
            ("a <style>*{display:none}</style>", "<p>a &lt;style&gt;*{display:none}&lt;/style&gt;</p>"),
            ("a <form action=/x><input>", "<p>a &lt;form action=/x&gt;&lt;input&gt;</p>"),
            ("a <base href=//evil>", "<p>a &lt;base href=//evil&gt;</p>"),
            ("[a](javascript:alert(1))", "<p><a href=\"\">a</a></p>"),
            ("[a](JaVaScRiPt:alert(1))", "<p><a href=\"\">a</a></p>"),
            ("[a](java&#10;script:x)", "<p><a href=\"\">a</a></p>"),
            ("[a](data:text/html,x)", "<p><a href=\"\">a</a></p>"),
            ("![a](javascript:x)", "<p><a href=\"\">a</a></p>"),
            ("[a](https://x/\"onclick=y)", "<p><a href=\"https://x/%22onclick=y\">a</a></p>"),
            (
                "[a](https://x 'b\" onclick=\"y')",
                "<p><a href=\"https://x\" title=\"b&quot; onclick=&quot;y\">a</a></p>",
            ),
            ("```a\" onclick=\"x\nb\n```", "<pre><code class=\"language-a&quot;\">b\n</code></pre>"),
            ("<!-- marker -->", ""),
            ("<!-- a --><script>x", "&lt;script&gt;x"),
            ("a <!-- never ended", "<p>a &lt;!-- never ended</p>"),
        ] {
            assert_eq!(html(text).trim(), expected, "{text}");
        }
    }

    /// A comment ends neither the box that it is shown in nor what stands around it, and nothing of it goes on behind.
    #[test]
    fn tags_are_nested() {
        for (text, expected) in [
            ("x </details> y", "<p>x  y</p>"),
            ("</details>\n</summary>\n\nx", "<p>x</p>"),
            ("a <b>b", "<p>a <b>b</b></p>"),
            ("</div></div>", "&lt;/div&gt;&lt;/div&gt;"),
            ("<details>\n\n- a </details>\n\nb", "<details>\n<ul>\n<li>a </li></ul></details>\n\n\n<p>b</p>"),
            ("- <details>\n\n</details>", "<ul>\n<li><details>\n</details></li></ul>"),
            ("<details>\n<details>\n\nx", "<details>\n<details>\n<p>x</p>\n</details></details>"),
            ("<summary>\n\n<summary>", "<summary>\n<summary>\n</summary></summary>"),
        ] {
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(squeeze(&html(text)), squeeze(expected), "{text}: {}", html(text));
        }
    }
}
