//! Texts without secrets. What others say ends up in errors and logs, and may quote what we sent.

const GONE: &str = "[redacted]";

/// How a secret begins, and whether what follows may hold the characters of plain base64 as well.
const BEGINNINGS: [(&str, bool); 8] = [
    ("ghs_", false),
    ("ghp_", false),
    ("gho_", false),
    ("ghu_", false),
    ("ghr_", false),
    ("github_pat_", false),
    // `{"` in base64: the header of every JWT.
    ("eyJ", true),
    // `x-access-token:` in base64, as git's requests carry it.
    ("eC1hY2Nlc3MtdG9rZW46", true),
];

/// A JWT is longer than this; shorter words that begin like one are left.
const SHORTEST_JWT: usize = 16;

/// `text` with everything in it that begins like a token of GitHub or looks like a JWT replaced, whatever its length.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, beginning, base64)) = first(rest) {
        let tail = &rest[at + beginning.len()..];
        let length = tail.find(|c: char| !belongs(c, base64)).unwrap_or(tail.len());
        out.push_str(&rest[..at]);
        if beginning == "eyJ" && length < SHORTEST_JWT {
            out.push_str(beginning);
            rest = tail;
        } else {
            out.push_str(GONE);
            rest = &tail[length..];
        }
    }
    out.push_str(rest);
    out
}

/// The first beginning of a secret in `text`.
fn first(text: &str) -> Option<(usize, &'static str, bool)> {
    BEGINNINGS
        .iter()
        .filter_map(|&(beginning, base64)| text.find(beginning).map(|at| (at, beginning, base64)))
        .min_by_key(|&(at, _, _)| at)
}

fn belongs(c: char, base64: bool) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~') || (base64 && matches!(c, '+' | '/' | '='))
}

/// The first 300 characters of [`redact`]ed `text`, on one line.
pub(crate) fn words(text: &str) -> String {
    let clean: String = redact(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let clean = clean.trim();
    match clean.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out() {
        for (text, clean) in [
            ("nothing here", "nothing here"),
            ("token ghs_16C7e42F292c6912E7710c838347Ae178B4a.", "token [redacted]"),
            ("ghs_1_eyJhbGciOi.a.b and ghs_", "[redacted] and [redacted]"),
            ("Bearer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOjF9.c2ln, he said", "Bearer [redacted], he said"),
            ("eyJ is short", "eyJ is short"),
            ("eyJghs_abc", "eyJ[redacted]"),
            ("Basic eC1hY2Nlc3MtdG9rZW46Z2hzX2FiYw==\"", "Basic [redacted]\""),
            ("https://x-access-token:ghs_abc@github.com/o/r", "https://x-access-token:[redacted]@github.com/o/r"),
        ] {
            assert_eq!(redact(text), clean);
        }
    }

    #[test]
    fn long_texts_end() {
        assert_eq!(words(&"é".repeat(301)), format!("{}…", "é".repeat(300)));
        assert_eq!(words(" a\r\nb "), "a  b");
    }
}
