//! Where a line is a command, and where it is not.

use super::*;

const LINE: &str = "/ab-test zephyr";

#[test]
fn nothing_inside_something_else_is_a_command() {
    for body in [
        "> /ab-test zephyr",
        "> quoted\n/ab-test zephyr",
        "> > a\n/ab-test zephyr",
        "> [!NOTE]\n> /ab-test zephyr",
        "```\n/ab-test zephyr\n```",
        "```\n/ab-test zephyr",
        "~~~sh\n/ab-test zephyr\n~~~",
        "    /ab-test zephyr",
        "\t/ab-test zephyr",
        "text\n    /ab-test zephyr",
        "`/ab-test zephyr`",
        "write `\n/ab-test zephyr\n` please",
        "<!-- /ab-test zephyr -->",
        "<!--\n/ab-test zephyr\n-->",
        "<!--\n\n/ab-test zephyr\n\n-->",
        "text <!--\n/ab-test zephyr\n--> text",
        "<div>\n/ab-test zephyr\n</div>",
        "<details>\n\n/ab-test zephyr\n\n</details>",
        "<details><summary>old</summary>\n\n/ab-test zephyr\n",
        "<blockquote>\n\n/ab-test zephyr\n\n</blockquote>",
        "text <del>\n/ab-test zephyr\n</del>",
        "text <a href=\"x\">\n/ab-test zephyr</a>",
        "text <a title=\"\n/ab-test zephyr\n\">x</a>",
        "[\n/ab-test zephyr\n](https://example.org)",
        "[/ab-test zephyr](https://example.org)",
        "![\n/ab-test zephyr](x)",
        "[x]: /y \"\n/ab-test zephyr\n\"",
        "# /ab-test zephyr",
        "/ab-test zephyr\n===",
        "/ab-test zephyr\n---",
        "- /ab-test zephyr",
        "- item\n/ab-test zephyr",
        "- item\n\n  /ab-test zephyr",
        "1. /ab-test zephyr",
        "- [ ] /ab-test zephyr",
        "| a |\n|---|\n| /ab-test zephyr |",
        "/ab-test zephyr | b\n---|---\n",
        "a[^1]\n\n[^1]: x\n/ab-test zephyr",
        "a[^1]\n\n[^1]: x\n\n    /ab-test zephyr",
        "*text\n/ab-test zephyr*",
        "**text\n/ab-test zephyr**",
        "~~text\n/ab-test zephyr~~",
        "*/ab-test zephyr*",
        "please /ab-test zephyr",
        "\\/ab-test zephyr",
        "&#47;ab-test zephyr",
        "&nbsp;/ab-test zephyr",
        "\u{feff}/ab-test zephyr",
        "\u{200b}/ab-test zephyr",
        "\u{a0}/ab-test zephyr",
        "/ab-test\u{200b} zephyr",
        "/ab-testing zephyr",
        "/ab-test: zephyr",
        "/ab-test, zephyr",
        "/AB-TEST zephyr",
        "/ab_test zephyr",
        "//ab-test zephyr",
        "https://example.org/ab-test zephyr",
        "",
        "\r\n",
    ] {
        assert_eq!(extract(body), Found::None, "{body:?}");
        assert_eq!(extract(&body.replace('\n', "\r\n")), Found::None, "{body:?} with CRLF");
    }
}

#[test]
fn a_line_of_a_paragraph_is_a_command() {
    for body in [
        "/ab-test zephyr",
        "/ab-test zephyr\n",
        "   /ab-test zephyr",
        "/ab-test zephyr  \t",
        "Hello,\n/ab-test zephyr",
        "Hello,\n\n/ab-test zephyr\nthank you",
        "a\r\nb\r\n/ab-test zephyr\r\nc\r\n",
        "a\rb\r/ab-test zephyr\rc",
        "a  \n/ab-test zephyr",
        "a\\\n/ab-test zephyr",
        "> quoted: `/ab-test zephyr cancel`\n\n/ab-test zephyr",
        "> /ab-test zephyr\n\n/ab-test zephyr\n",
        "```\n/ab-test zephyr\n```\n/ab-test zephyr",
        "# heading\n/ab-test zephyr",
        "- item\n\n/ab-test zephyr",
        "[x]: /y\n/ab-test zephyr",
        "[x]: /y\n/ab-test zephyr\n**b\nc** `d\ne` [f\ng](h)",
        "[x]: /y \"\n/ab-test demo\n\"\n/ab-test zephyr",
        "[x] is a link\n/ab-test zephyr\n\n[x]: /y",
        "[x](y\n) and\n/ab-test zephyr\n| a |\n|---|\n",
        "[x]: /y\n[z]: /w 'title'\ntext\n/ab-test zephyr",
        "<!-- hidden -->\n\n/ab-test zephyr",
        "<details>\n\nx\n\n</details>\n\n/ab-test zephyr",
        "what is <x> here\n/ab-test zephyr",
        "line<br>\n/ab-test zephyr",
        "a [link](https://example.org)\n/ab-test zephyr",
        "a `b\nc` d\n/ab-test zephyr",
        "*a\nb* c\n/ab-test zephyr",
        "text[^1]\n/ab-test zephyr\n\n[^1]: note",
        "| a |\n|---|\n| b |\n\n/ab-test zephyr",
        "ä ö ü 🤖\n/ab-test zephyr",
        "\u{feff}text\n/ab-test zephyr",
        "/ab-testing zephyr\n/ab-test zephyr",
    ] {
        assert_eq!(extract(body), Found::One(LINE.to_owned()), "{body:?}");
    }
}

#[test]
fn the_line_is_what_was_typed() {
    for line in [
        "/ab-test zephyr sources=a_b_c,*d*",
        "/ab-test zephyr treatment=a@head,x=<b> *y*",
        "/ab-test zephyr explain `minhash · stage0-Map → Write`",
        "/ab-test zephyr sample=gs://a/b_c_d",
        "/ab-test zephyr sample=http://example.org/x_y_",
        "/ab-test zephyr  preset=light\tx=&amp;",
        "/ab-test zephyr skip [a](b) ~~c~~ <!-- d -->",
        "/ab-test",
        "/ab-test\u{a0}zephyr",
    ] {
        assert_eq!(extract(line), Found::One(line.to_owned()), "{line:?}");
        assert_eq!(extract(&format!("*a* _b_\r\n  {line} \r\n*c*")), Found::One(line.to_owned()), "{line:?}");
    }
    assert_eq!(extract("/ab-test zephyr skip *a\nb*"), Found::One("/ab-test zephyr skip *a".to_owned()));
}

#[test]
fn two_are_too_many() {
    for body in ["/ab-test zephyr\n/ab-test zephyr cancel", "/ab-test help\n\ntext\n\n/ab-test help"] {
        assert_eq!(extract(body), Found::Two, "{body:?}");
        assert_eq!(refused(body).code, Code::TwoCommands);
    }
}

#[test]
fn lengths_are_limited() {
    let filler = "x".repeat(LONGEST_BODY - LINE.len() - 1);
    assert_eq!(extract(&format!("{LINE}\n{filler}")), Found::One(LINE.to_owned()), "exactly the limit is not above it");
    assert_eq!(refused(&format!("{LINE}\n{filler}x")).code, Code::TooLong);
    assert_eq!(extract(&"x".repeat(LONGEST_BODY + 1)), Found::None, "nobody asked for anything");
    let reason = "x".repeat(LONGEST_LINE - LINE.len() - 6);
    assert!(matches!(extract(&format!("{LINE} skip {reason}")), Found::One(_)));
    assert_eq!(refused(&format!("{LINE} skip {reason}x")).code, Code::TooLong);
}
