//! Secrets, before anything is written.
//!
//! What a benchmark printed is not ours: each match is replaced by `[redacted:<kind>]`, and that it happened is written
//! down beside it. What we write ourselves must hold none: then nothing is written and the kind is named, never the
//! secret. Content is bytes of any kind; every pattern is searched in time linear in the content, whatever it holds.
//!
//! Where a pattern must look at what stands around a secret (a header, the user part of an address), only the secret is
//! replaced, so that a file of a known form keeps it.

use std::collections::BTreeMap;
use std::fmt;

use regex::bytes::{Captures, Regex, RegexSet};
use serde::{Deserialize, Serialize};

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One of our own secrets.
    OwnSecret,
    /// A private key in PEM.
    PrivateKey,
    /// A token of GitHub.
    GithubToken,
    /// An access key of AWS.
    AwsKey,
    /// A key or token of Google.
    GoogleKey,
    /// A part of a service account's JSON.
    ServiceAccount,
    /// A token of another service, or the value of something that is called a password, secret or key.
    ServiceToken,
    /// A signed token (JWT), such as that of a GitHub App.
    SignedToken,
    /// What follows `Authorization:` or `Bearer`.
    Authorization,
    /// User and password in an address.
    UrlPassword,
}

impl Kind {
    /// Its word in a file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::OwnSecret => "own-secret",
            Self::PrivateKey => "private-key",
            Self::GithubToken => "github-token",
            Self::AwsKey => "aws-key",
            Self::GoogleKey => "google-key",
            Self::ServiceAccount => "service-account",
            Self::ServiceToken => "service-token",
            Self::SignedToken => "signed-token",
            Self::Authorization => "authorization",
            Self::UrlPassword => "url-password",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The patterns. The group `s`, where there is one, is the secret; the rest stays.
const PATTERNS: &[(Kind, &str)] = &[
    // Up to its end where that is there; else the lines of base64 that follow. `\\[rn]` is a line end inside JSON.
    (
        Kind::PrivateKey,
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\\\s:,.-]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[A-Za-z0-9+/=\s]|\\[rn])*)",
    ),
    (Kind::GithubToken, r"gh[opusr]_[A-Za-z0-9_.-]{20,}|github_pat_[A-Za-z0-9_]{20,}"),
    (Kind::AwsKey, r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    (
        Kind::AwsKey,
        r#"(?i)aws_?(?:secret_?access_?key|session_?token)["']?\s{0,4}[:=]\s{0,4}["']?(?P<s>[A-Za-z0-9/+=]{16,})"#,
    ),
    (Kind::GoogleKey, r"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_.-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    (Kind::ServiceAccount, r#""private_key_id"\s{0,8}:\s{0,8}"(?P<s>[0-9A-Za-z]{8,})"#),
    (
        Kind::ServiceToken,
        r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}|\b(?:sk-ant|sk-proj|sk_live|rk_live)[-_][0-9A-Za-z_-]{16,}",
    ),
    (Kind::ServiceToken, r"\b(?:glpat-|hf_|npm_|dckr_pat_|pypi-)[0-9A-Za-z_-]{16,}"),
    (
        Kind::ServiceToken,
        r#"(?i)(?:(?:\b|_)(?:password|passwd|secret|api_?key|access_?token)|_token)["']?\s{0,4}[:=]\s{0,4}["']?(?P<s>[^\s"'\\,;\[][^\s"'\\,;]{7,})"#,
    ),
    (Kind::SignedToken, r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    (
        Kind::Authorization,
        r#"(?i)\b(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:[A-Za-z0-9-]{3,20}[ \t]{1,4})?(?P<s>[A-Za-z0-9._~+/=:-]{8,})"#,
    ),
    (Kind::Authorization, r"(?i)\bbearer[ \t]{1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,})"),
    (
        Kind::UrlPassword,
        r#"[A-Za-z][A-Za-z0-9+.-]{0,20}://(?P<s>[^\s/?#@:"'<>\[\]\\]{0,255}:[^\s/?#@"'<>\[\]\\]{1,255})@"#,
    ),
    (Kind::UrlPassword, r#"(?i)https?://(?P<s>[^\s/?#@:"'<>\[\]\\]{12,255})@"#),
];

/// Shortest own secret that is searched for, bytes: a shorter one would be found everywhere.
const SHORTEST: usize = 8;

/// What was replaced, and how often.
pub type Found = BTreeMap<Kind, u64>;

/// Searches for secrets.
pub struct Scanner {
    set: RegexSet,
    patterns: Vec<(Kind, Regex)>,
}

impl fmt::Debug for Scanner {
    /// Never the patterns: they hold our own secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scanner({} patterns)", self.patterns.len())
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Scanner {
    /// With our own secrets, which are searched for as they are; those under 8 bytes are not.
    #[must_use]
    // The patterns are fixed and tested, and an escaped text is always a pattern.
    #[allow(clippy::expect_used, clippy::missing_panics_doc)]
    pub fn new(own: &[&str]) -> Self {
        let own = own.iter().map(|secret| secret.trim()).filter(|secret| secret.len() >= SHORTEST);
        let own = own.map(|secret| (Kind::OwnSecret, format!("(?u){}", regex::escape(secret))));
        let known = PATTERNS.iter().map(|(kind, pattern)| (*kind, format!("(?-u){pattern}")));
        let all: Vec<(Kind, String)> = own.chain(known).collect();
        let patterns = all.iter().map(|(kind, text)| (*kind, Regex::new(text).expect("a pattern"))).collect();
        let set = RegexSet::new(all.iter().map(|(_, text)| text)).expect("the same patterns");
        Self { set, patterns }
    }

    /// The first kind of secret that is there.
    #[must_use]
    pub fn find(&self, bytes: &[u8]) -> Option<Kind> {
        self.set.matches(bytes).iter().next().and_then(|at| self.patterns.get(at)).map(|(kind, _)| *kind)
    }

    /// The content with every secret replaced, and what was replaced. `None` where there is none.
    #[must_use]
    pub fn redact(&self, bytes: &[u8]) -> Option<(Vec<u8>, Found)> {
        let hits = self.set.matches(bytes);
        if !hits.matched_any() {
            return None;
        }
        let (mut content, mut found) = (bytes.to_vec(), Found::new());
        for (kind, pattern) in hits.iter().filter_map(|at| self.patterns.get(at)) {
            let mut times = 0;
            let replaced = pattern.replace_all(&content, |captures: &Captures<'_>| {
                times += 1;
                replacement(*kind, captures)
            });
            content = replaced.into_owned();
            if times > 0 {
                *found.entry(*kind).or_default() += times;
            }
        }
        Some((content, found))
    }
}

fn replacement(kind: Kind, captures: &Captures<'_>) -> Vec<u8> {
    let mark = format!("[redacted:{kind}]").into_bytes();
    let Some(whole) = captures.get(0) else { return mark };
    let Some(secret) = captures.name("s") else { return mark };
    let (from, to) = (secret.start() - whole.start(), secret.end() - whole.start());
    [&whole.as_bytes()[..from], &mark, &whole.as_bytes()[to..]].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts that look like secrets and are none; written in pieces, so that no scanner finds them here.
    fn samples() -> Vec<(Kind, String, &'static str)> {
        let x = |n: usize| "aB3".repeat(n.div_ceil(3))[..n].to_owned();
        vec![
            (Kind::GithubToken, format!("token gh{}_{} end", "s", x(36)), "token [redacted:github-token] end"),
            (Kind::GithubToken, format!("gh{}_{}", "p", x(36)), "[redacted:github-token]"),
            (Kind::GithubToken, format!("gh{}_{}", "o", x(40)), "[redacted:github-token]"),
            (Kind::GithubToken, format!("github_{}_{}", "pat", x(60)), "[redacted:github-token]"),
            (Kind::AwsKey, format!("id=AK{}{}", "IA", "ABCDEFGH23456789"), "id=[redacted:aws-key]"),
            (
                Kind::AwsKey,
                format!("aws_secret_{}_key = {}", "access", x(40)),
                "aws_secret_access_key = [redacted:aws-key]",
            ),
            (Kind::GoogleKey, format!("AI{}{}", "za", x(35)), "[redacted:google-key]"),
            (Kind::GoogleKey, format!("ya{}{}", "29.", x(40)), "[redacted:google-key]"),
            (
                Kind::ServiceAccount,
                format!(r#"{{"type":"service_account","private_{}_id": "{}"}}"#, "key", "0a".repeat(20)),
                r#"{"type":"service_account","private_key_id": "[redacted:service-account]"}"#,
            ),
            (Kind::ServiceToken, format!("xo{}-{}", "xb", x(24)), "[redacted:service-token]"),
            (Kind::ServiceToken, format!("gl{}-{}", "pat", x(20)), "[redacted:service-token]"),
            (Kind::ServiceToken, format!("sk-{}-{}", "ant", x(30)), "[redacted:service-token]"),
            (
                Kind::ServiceToken,
                format!("db pass{}=hunter2hunter2 ok", "word"),
                "db password=[redacted:service-token] ok",
            ),
            (
                Kind::ServiceToken,
                format!(r#"{{"api_{}": "{}"}}"#, "key", x(12)),
                r#"{"api_key": "[redacted:service-token]"}"#,
            ),
            (Kind::SignedToken, format!("eyJ{}.eyJ{}.{}", x(20), x(30), x(40)), "[redacted:signed-token]"),
            (
                Kind::Authorization,
                format!("> Authorization: Basic {}==\r\n", x(20)),
                "> Authorization: Basic [redacted:authorization]\r\n",
            ),
            (
                Kind::Authorization,
                format!(r#"{{"authorization": "token {}"}}"#, x(20)),
                r#"{"authorization": "token [redacted:authorization]"}"#,
            ),
            (Kind::Authorization, format!("curl -H 'bearer {}'", x(20)), "curl -H 'bearer [redacted:authorization]'"),
            (
                Kind::UrlPassword,
                "git clone https://me:hunter2@host/x".to_owned(),
                "git clone https://[redacted:url-password]@host/x",
            ),
            (Kind::UrlPassword, format!("https://{}@host/x", x(20)), "https://[redacted:url-password]@host/x"),
            (Kind::UrlPassword, "redis://:secret@host:1/0".to_owned(), "redis://[redacted:url-password]@host:1/0"),
        ]
    }

    #[test]
    fn every_kind_is_found_and_replaced() {
        let scanner = Scanner::default();
        for (kind, text, expected) in samples() {
            let (redacted, found) = scanner.redact(text.as_bytes()).unwrap_or_else(|| panic!("{kind}: {expected}"));
            assert_eq!(String::from_utf8(redacted).unwrap(), expected);
            assert_eq!(found.into_iter().collect::<Vec<_>>(), [(kind, 1)], "{expected}");
            assert_eq!(scanner.find(expected.as_bytes()), None, "{expected}");
        }
    }

    #[test]
    fn private_keys_whole_cut_off_and_inside_json() {
        let (scanner, body) = (Scanner::default(), "MIIEabcd+/efgh".repeat(4));
        let (begin, end) =
            (format!("-----BEGIN RSA {} KEY-----", "PRIVATE"), format!("-----END RSA {} KEY-----", "PRIVATE"));
        for (text, expected) in [
            (format!("a\n{begin}\n{body}\n{body}=\n{end}\nb"), "a\n[redacted:private-key]\nb"),
            (format!(r#"{{"k":"{begin}\n{body}\n{end}\n","x":1}}"#), r#"{"k":"[redacted:private-key]\n","x":1}"#),
            (format!(r#"{{"k":"{begin}\n{body}","x":1}}"#), r#"{"k":"[redacted:private-key]","x":1}"#),
            (format!("{begin}\n{body}\n{body}"), "[redacted:private-key]"),
        ] {
            let (redacted, _) = scanner.redact(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(redacted).unwrap(), expected);
        }
    }

    #[test]
    fn our_own_secrets() {
        let scanner = Scanner::new(&["correct.horse", "short", "  \n"]);
        let (redacted, found) = scanner.redact(b"x correct.horse y correct.horse short").unwrap();
        assert_eq!(redacted, b"x [redacted:own-secret] y [redacted:own-secret] short");
        assert_eq!(found[&Kind::OwnSecret], 2);
        assert!(scanner.redact(b"correct-horse short").is_none());
        assert!(!format!("{scanner:?}").contains("horse"));
    }

    #[test]
    fn what_is_no_secret_stays() {
        let scanner = Scanner::default();
        for text in [
            "ssh://git@github.com/owner/name",
            "https://github.com/owner/name@v1",
            "git@github.com:owner/name.git",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "gh_pages and ghost_writer",
            "a bearer of bad news",
            "step authorization took 1.5 s",
            "http://127.0.0.1:8080/x?a=b@c",
            "8d10c1b5f86d081884c7d659a2feaa0c55ad015a",
        ] {
            assert_eq!(scanner.find(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn long_lines_and_binary_content() {
        let scanner = Scanner::default();
        let token = format!("gh{}_{}", "s", "a1".repeat(20));
        let mut bytes = vec![0xff_u8; 1 << 20];
        bytes.extend_from_slice(&[0, 0x80]);
        bytes.extend_from_slice(token.as_bytes());
        bytes.extend_from_slice(&[0, 0xc3]);
        bytes.extend(std::iter::repeat_n(b'a', 1 << 20));
        let (redacted, found) = scanner.redact(&bytes).unwrap();
        assert_eq!(found[&Kind::GithubToken], 1);
        assert_eq!(redacted.len(), bytes.len() - token.len() + "[redacted:github-token]".len());
        assert!(redacted.starts_with(&bytes[..(1 << 20) + 2]) && redacted.ends_with(b"aaaa"));
    }

    proptest! {
        #[test]
        fn nothing_is_left_after_redacting(
            noise in proptest::collection::vec(("[ -~\n]{0,30}", 0_usize..16), 1..8),
        ) {
            let scanner = Scanner::default();
            let samples = samples();
            let mut text = String::new();
            for (before, at) in noise {
                text.push_str(&before);
                text.push(' ');
                text.push_str(&samples[at % samples.len()].1);
                text.push(' ');
            }
            let (redacted, found) = scanner.redact(text.as_bytes()).unwrap();
            prop_assert!(!found.is_empty());
            prop_assert_eq!(scanner.find(&redacted), None, "{}", String::from_utf8_lossy(&redacted));
        }
    }
}
