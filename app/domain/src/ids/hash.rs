//! Commits and digests.

use sha2::{Digest as _, Sha256};

use super::error::{IdError, characters};
use super::text_id;

const COMMIT: &str = "a commit";
const COMMIT_ALLOWED: &str = "40 hexadecimal digits";
const DIGEST_ALLOWED: &str = "64 lowercase hexadecimal digits";

text_id! {
    /// A git commit: 40 hexadecimal digits. Uppercase digits are accepted, because people paste them, and kept as
    /// lowercase, so that one commit has one text. The all-zero id is refused: git uses it for "no commit".
    CommitSha, commit
}

text_id! {
    /// A SHA-256 digest: 64 lowercase hexadecimal digits.
    Digest, digest
}

impl CommitSha {
    /// The first seven digits, for display only.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }
}

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex::encode(Sha256::digest(bytes)))
    }
}

fn commit(text: &str) -> Result<String, IdError> {
    characters(COMMIT, text, 40..=40, COMMIT_ALLOWED, |_, c| c.is_ascii_hexdigit())?;
    if text.bytes().all(|b| b == b'0') {
        return Err(IdError::Reserved { what: COMMIT, found: text.to_owned(), why: "git uses it for no commit" });
    }
    Ok(text.to_ascii_lowercase())
}

fn digest(text: &str) -> Result<String, IdError> {
    characters("a digest", text, 64..=64, DIGEST_ALLOWED, |_, c| matches!(c, '0'..='9' | 'a'..='f'))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_kept_in_lowercase() {
        let sha: CommitSha = "DEADBEEF00112233445566778899AABBCCDDEEFF".parse().unwrap();
        assert_eq!(sha.as_str(), "deadbeef00112233445566778899aabbccddeeff");
        assert_eq!(sha.short(), "deadbee");
    }

    #[test]
    fn commits_refused() {
        for (text, message) in [
            ("deadbee", "a commit has 7 characters; allowed: 40 hexadecimal digits"),
            ("--upload-pack=x", "a commit has '-' as character 1; allowed: 40 hexadecimal digits"),
            ("HEAD", "a commit has 'H' as character 1; allowed: 40 hexadecimal digits"),
        ] {
            assert_eq!(text.parse::<CommitSha>().unwrap_err().to_string(), message);
        }
        assert!(matches!("0".repeat(40).parse::<CommitSha>(), Err(IdError::Reserved { .. })));
    }

    #[test]
    fn digest_of_nothing() {
        // FIPS 180-4: SHA-256 of the empty message.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b""), empty.parse().unwrap());
        assert!(empty.to_uppercase().parse::<Digest>().is_err());
    }
}
