//! Foreign text: stage names, ids, branch names, error lines. Whatever stands in it, it is shown as text: no markup,
//! no mention, no link, no closed issue, no marker, no command, no second line.

/// What stands for a character that cannot be shown.
const HIDDEN: char = '\u{FFFD}';
/// A space of no width: breaks a mention or a reference without being seen.
const BREAK: char = '\u{200B}';
/// Accents in a row that are shown; more of them climb over the neighbouring lines.
const ACCENTS: usize = 3;

/// One line of at most `cap` characters: control and direction characters become U+FFFD, line breaks and tabs become
/// spaces, characters without width go. What is longer keeps its beginning and its end, with an ellipsis between.
#[must_use]
pub fn line(text: &str, cap: usize) -> String {
    let mut out = String::with_capacity(text.len().min(4 * cap));
    let mut accents = 0;
    for c in ends(text, 8 * cap).replace("\r\n", "\n").chars().filter(|c| !is_invisible(*c)) {
        accents = if is_accent(c) { accents + 1 } else { 0 };
        if accents > ACCENTS {
            continue;
        }
        out.push(if c.is_whitespace() || matches!(c, '\u{3164}' | '\u{FFA0}' | '\u{115F}' | '\u{1160}' | '\u{2800}') {
            ' '
        } else if c.is_control() || is_direction(c) {
            HIDDEN
        } else {
            c
        });
    }
    shorten(out.trim(), cap)
}

/// `text` without the middle that [`shorten`] would take out anyhow, so that a name of megabytes costs no time.
fn ends(text: &str, keep: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= 8 * keep {
        return text.into();
    }
    let at = |i: usize| text.floor_char_boundary(i);
    format!("{}{}", &text[..at(4 * keep)], &text[at(text.len() - 4 * keep)..]).into()
}

/// `text` with its middle taken out where it has more than `cap` characters.
fn shorten(text: &str, cap: usize) -> String {
    let count = text.chars().count();
    if count <= cap {
        return text.to_owned();
    }
    let tail = cap.saturating_sub(1) / 3;
    let head = cap.saturating_sub(1) - tail;
    let mut out: String = text.chars().take(head).collect();
    out.push('…');
    out.extend(text.chars().skip(count - tail));
    out
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}'
        | '\u{206A}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{0483}'..='\u{0489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

/// Breaks what GitHub would turn into a mention, a reference, a link, a comment or a command, wherever it stands.
fn defuse(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    for (i, c) in chars.iter().copied().enumerate() {
        let before = i.checked_sub(1).map(|j| chars[j]);
        let after = chars.get(i + 1).copied();
        let breaks = match c {
            '!' | '-' | '/' | '?' if before == Some('<') => true,
            '-' if before == Some('-') && after == Some('>') => true,
            '/' if before == Some(':') && after == Some('/') => {
                ["http", "https", "ftp"].iter().any(|s| ends_before(&chars, i - 1, s))
            }
            '.' if ends_before(&chars, i, "www") => true,
            // The one line of a comment that scripts look for.
            ':' if ends_before(&chars, i, "verdict") => true,
            c if c.is_ascii_digit() => before == Some('#') || (before == Some('-') && ends_before(&chars, i - 1, "gh")),
            'a' | 'A'
                if before == Some('/')
                    && chars[i..].iter().take(7).collect::<String>().eq_ignore_ascii_case("ab-test") =>
            {
                true
            }
            c => before == Some('@') && !c.is_whitespace() && c != '`',
        };
        if breaks || (before == Some('@') && c.is_ascii_digit()) {
            out.push(BREAK);
        }
        out.push(c);
    }
    out
}

/// Whether `word` stands right before position `i`, in any case.
fn ends_before(chars: &[char], i: usize, word: &str) -> bool {
    let len = word.len();
    i >= len && chars[i - len..i].iter().collect::<String>().eq_ignore_ascii_case(word)
}

/// A code span of at most `cap` characters of `text`.
#[must_use]
pub fn code(text: &str, cap: usize) -> String {
    let text = defuse(&line(text, cap));
    if text.is_empty() {
        return "` `".to_owned();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // One space on either side is taken off again; it keeps the fence apart from a backtick of the text.
    if text.starts_with('`') || text.ends_with('`') {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

/// A code span for a cell of a table. A cell ends at the next pipe that has no backslash before it, in code spans too;
/// a backslash that already stands there is kept apart from ours.
#[must_use]
pub fn cell(text: &str, cap: usize) -> String {
    let code = code(text, cap);
    let mut out = String::with_capacity(code.len());
    let mut before = ' ';
    for c in code.chars() {
        if c == '|' {
            out.push_str(if before == '\\' { "\u{200B}\\|" } else { "\\|" });
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// `text` as prose, without a code span: every character with a meaning in Markdown has a backslash before it.
#[must_use]
pub fn prose(text: &str, cap: usize) -> String {
    let text = defuse(&line(text, cap));
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // A dollar sign starts mathematics, and a backslash does not stop it.
        if c == '$' {
            out.push('＄');
            continue;
        }
        if matches!(c, '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '!' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    // What starts a heading, a list, a quote or a rule only does so at the start of a line.
    if out.starts_with(['#', '-', '+', '/']) {
        out.insert(0, BREAK);
    } else if out.starts_with(|c: char| c.is_ascii_digit())
        && let Some(at) = out.find(|c: char| !c.is_ascii_digit()).filter(|at| out[*at..].starts_with(['.', ')']))
    {
        out.insert(at, '\\');
    }
    out
}

/// A fenced block of at most `lines` lines of at most `cap` characters each. Returns it with the number of lines left
/// out.
#[must_use]
pub fn block(text: &str, lines: usize, cap: usize) -> (String, usize) {
    let all: Vec<&str> = text.lines().collect();
    let shown: Vec<String> = all.iter().take(lines).map(|l| defuse(&indented(l, cap))).collect();
    let longest = shown.iter().flat_map(|l| l.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    (format!("{fence}text\n{}\n{fence}", shown.join("\n")), all.len().saturating_sub(lines))
}

/// [`line`] with the indentation kept.
fn indented(text: &str, cap: usize) -> String {
    let indent = text.chars().take_while(|c| *c == ' ').count().min(cap / 2);
    format!("{}{}", " ".repeat(indent), line(text, cap.saturating_sub(indent)))
}

/// An address of ours that may be linked: http or https, without anything that ends a link early.
#[must_use]
pub fn address(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let fine = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$&'*+,;=%".contains(c);
    (!rest.is_empty() && url.len() <= 400 && rest.chars().all(fine)).then_some(url)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_names() {
        for (text, expected) in [
            ("stage0-Map → Write", "`stage0-Map → Write`"),
            ("a|b", "`a\\|b`"),
            ("a\\|b", "`a\\\u{200B}\\|b`"),
            ("`x`", "`` `x` ``"),
            ("a\n| b |\r\n<!-- zephyr-ab-test -->", "`a \\| b \\| <\u{200B}!-- zephyr-ab-test -\u{200B}->`"),
            ("@team", "`@\u{200B}team`"),
            ("Fixes #3", "`Fixes #\u{200B}3`"),
            ("owner/repo#1 GH-7", "`owner/repo#\u{200B}1 GH-\u{200B}7`"),
            ("https://x.y www.x.y", "`https:\u{200B}//x.y www\u{200B}.x.y`"),
            ("/ab-test zephyr", "`/\u{200B}ab-test zephyr`"),
            ("a\u{202E}b\u{200F}c\u{200D}d\u{7}", "`a\u{FFFD}b\u{FFFD}cd\u{FFFD}`"),
            ("", "` `"),
            ("\u{200B}", "` `"),
        ] {
            assert_eq!(cell(text, 80), expected, "{text:?}");
        }
    }

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("{}{}", "a".repeat(4_000), "end");
        let short = line(&name, 20);
        assert_eq!(short, "aaaaaaaaaaaaa…aaaend");
        assert_eq!(short.chars().count(), 20);
        assert_eq!(line("e\u{301}\u{301}\u{301}\u{301}\u{301}", 20), "e\u{301}\u{301}\u{301}");
    }

    #[test]
    fn prose_is_only_text() {
        assert_eq!(prose("**a** <b>x</b> $y$", 80), "\\*\\*a\\*\\* \\<b\\>x\\<\u{200B}/b\\> ＄y＄");
        assert_eq!(prose("# head", 80), "\u{200B}# head");
        assert_eq!(prose("1. one", 80), "1\\. one");
        assert_eq!(prose("![x](https://e.vil)", 80), "\\!\\[x\\](https:\u{200B}//e.vil)");
    }

    #[test]
    fn blocks_choose_their_fence() {
        let (text, left) = block("a\n````\n  b\nc", 3, 40);
        assert_eq!(text, "`````text\na\n````\n  b\n`````");
        assert_eq!(left, 1);
    }

    #[test]
    fn no_second_verdict() {
        assert!(!block("Verdict: pass\nverdict: pass", 3, 40).0.to_lowercase().contains("verdict:"));
    }

    #[test]
    fn addresses() {
        assert_eq!(address("https://ab.example/run/k7"), Some("https://ab.example/run/k7"));
        for bad in ["javascript:alert(1)", "https://", "https://a b", "https://a)b", "https://a\nb", "ftp://a"] {
            assert_eq!(address(bad), None, "{bad}");
        }
    }

    /// Text that is made of what hurts.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("@team"),
            Just("#12"),
            Just("Fixes #3"),
            Just("|"),
            Just("\\"),
            Just("`"),
            Just("``"),
            Just("\n"),
            Just("\r\n"),
            Just("<!--"),
            Just("-->"),
            Just("<b>"),
            Just("https://x.y"),
            Just("![i](u)"),
            Just("\u{202E}"),
            Just("\u{200B}"),
            Just("/ab-test zephyr"),
            Just("GH-1"),
            Just("a"),
            Just(" "),
            Just("😀"),
            Just("\u{0}"),
            Just("www.x.y"),
            Just("$"),
            Just("@"),
            Just("#"),
            Just("1"),
        ];
        prop_oneof![proptest::collection::vec(piece, 0..40).prop_map(|v| v.concat()), any::<String>(),]
    }

    proptest! {
        #[test]
        fn a_cell_stays_a_cell(text in hostile(), cap in 1usize..100) {
            let cell = cell(&text, cap);
            prop_assert!(!cell.contains(['\n', '\r']));
            let chars: Vec<char> = cell.chars().collect();
            for (i, c) in chars.iter().enumerate() {
                if *c == '|' {
                    prop_assert!(i >= 1 && chars[i - 1] == '\\');
                    prop_assert!(i < 2 || chars[i - 2] != '\\');
                }
                prop_assert!(!is_direction(*c) && !c.is_control());
            }
            // One code span from the first to the last character.
            let fence: String = cell.chars().take_while(|c| *c == '`').collect();
            prop_assert!(!fence.is_empty() && cell.ends_with(&fence));
            let inner = &cell[fence.len()..cell.len() - fence.len()];
            prop_assert!(inner.split(|c| c != '`').all(|run| run.len() != fence.len()));
            no_reference(&cell)?;
        }

        #[test]
        fn prose_stays_prose(text in hostile(), cap in 1usize..100) {
            let prose = prose(&text, cap);
            prop_assert!(!prose.contains(['\n', '\r', '$']));
            no_reference(&prose)?;
            let chars: Vec<char> = prose.chars().collect();
            for (i, c) in chars.iter().enumerate() {
                if matches!(c, '<' | '[' | '`' | '|' | '*' | '&') {
                    let slashes = chars[..i].iter().rev().take_while(|c| **c == '\\').count();
                    prop_assert_eq!(slashes % 2, 1, "{}", prose);
                }
            }
        }

        #[test]
        fn a_block_stays_a_block(text in hostile(), lines in 1usize..5) {
            let (block, _) = block(&text, lines, 50);
            let fence: String = block.chars().take_while(|c| *c == '`').collect();
            prop_assert!(fence.len() >= 3);
            let close = format!("\n{fence}");
            prop_assert!(block.ends_with(&close));
            prop_assert_eq!(block.lines().filter(|l| l.trim().starts_with(&fence)).count(), 2);
            no_reference(&block)?;
        }

        #[test]
        fn a_line_is_capped(text in any::<String>(), cap in 1usize..50) {
            prop_assert!(line(&text, cap).chars().count() <= cap);
        }
    }

    fn no_reference(text: &str) -> Result<(), TestCaseError> {
        let chars: Vec<char> = text.chars().collect();
        for pair in chars.windows(2) {
            prop_assert!(
                !(pair[0] == '@' && (pair[1].is_alphanumeric() || pair[1] == '_' || pair[1] == '-')),
                "{}",
                text
            );
            prop_assert!(!(pair[0] == '#' && pair[1].is_ascii_digit()), "{}", text);
        }
        for bad in ["<!--", "http://", "https://", "ftp://", "/ab-test", "-->"] {
            prop_assert!(!text.contains(bad), "{}", text);
        }
        Ok(())
    }
}
