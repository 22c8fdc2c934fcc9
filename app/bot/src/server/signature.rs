//! Who sent a delivery: an HMAC-SHA256 over the bytes as they came.

use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// What a signature begins with.
const PREFIX: &str = "sha256=";

/// The signature is of none of the secrets. It does not say of which it would have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is missing or wrong")]
pub struct WrongSignature;

/// Makes signatures with one secret. Clones are the same.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

impl std::fmt::Debug for Signer {
    /// Never the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// With this secret.
    #[must_use]
    #[allow(clippy::expect_used, clippy::missing_panics_doc)] // a key of HMAC may have any length: the error is of others
    pub fn new(secret: &SecretString) -> Self {
        Self(Hmac::new_from_slice(secret.expose_secret().as_bytes()).expect("a key of any length"))
    }

    /// `X-Hub-Signature-256` of a body.
    #[must_use]
    pub fn sign(&self, body: &[u8]) -> String {
        format!("{PREFIX}{}", hex::encode(self.0.clone().chain_update(body).finalize().into_bytes()))
    }

    fn is_of(&self, body: &[u8], signature: &[u8]) -> bool {
        // In constant time.
        self.0.clone().chain_update(body).verify_slice(signature).is_ok()
    }
}

/// The secrets that a delivery may be signed with.
#[derive(Clone, Debug)]
pub struct WebhookSecrets(Arc<[Signer]>);

impl WebhookSecrets {
    /// These. With none of them every signature is wrong.
    #[must_use]
    pub fn new(secrets: &[SecretString]) -> Self {
        Self(secrets.iter().map(Signer::new).collect())
    }

    /// Whether `header` is the signature of `body` by one of the secrets.
    ///
    /// # Errors
    /// It is not.
    pub fn verify(&self, header: Option<&[u8]>, body: &[u8]) -> Result<(), WrongSignature> {
        let signature = parsed(header).ok_or(WrongSignature)?;
        // Each is tried, whichever fits: the time does not tell which.
        let fits = self.0.iter().fold(false, |fits, signer| signer.is_of(body, &signature) | fits);
        if fits { Ok(()) } else { Err(WrongSignature) }
    }
}

/// The 32 bytes of a signature that has the right form.
pub(super) fn parsed(header: Option<&[u8]>) -> Option<[u8; 32]> {
    let mut signature = [0; 32];
    hex::decode_to_slice(header?.strip_prefix(PREFIX.as_bytes())?, &mut signature).ok()?;
    Some(signature)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The example of GitHub's documentation.
    const DOCUMENTED: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn secrets(texts: &[&str]) -> WebhookSecrets {
        WebhookSecrets::new(&texts.iter().map(|text| SecretString::from(*text)).collect::<Vec<_>>())
    }

    #[test]
    fn the_documented_example_holds() {
        let secret = "It's a Secret to Everybody";
        let body = b"Hello, World!";
        assert_eq!(Signer::new(&SecretString::from(secret)).sign(body), DOCUMENTED);
        for known in [&[secret][..], &["new", secret], &[secret, "old"]] {
            assert_eq!(secrets(known).verify(Some(DOCUMENTED.as_bytes()), body), Ok(()));
        }
        for known in [&[][..], &["It's a secret to everybody"], &["", "x"]] {
            assert_eq!(secrets(known).verify(Some(DOCUMENTED.as_bytes()), body), Err(WrongSignature));
        }
    }

    #[test]
    fn what_has_another_form_is_wrong() {
        let known = secrets(&["It's a Secret to Everybody"]);
        let hex = &DOCUMENTED[7..];
        let wrong = [
            hex.to_owned(),
            format!("sha1={hex}"),
            format!("sha256={}", &hex[2..]),
            format!("{DOCUMENTED}00"),
            format!("{DOCUMENTED} "),
            format!("SHA256={hex}"),
            "sha256=".to_owned(),
            String::new(),
        ];
        for header in wrong {
            assert_eq!(known.verify(Some(header.as_bytes()), b"Hello, World!"), Err(WrongSignature), "{header:?}");
        }
        assert_eq!(known.verify(None, b"Hello, World!"), Err(WrongSignature));
        assert_eq!(known.verify(Some(DOCUMENTED.as_bytes()), b"Hello, World"), Err(WrongSignature));
    }

    proptest! {
        #[test]
        fn one_signature_is_of_one_body(secret in ".{0,200}", body in any::<Vec<u8>>(), flip in any::<prop::sample::Index>()) {
            let signer = Signer::new(&SecretString::from(secret.as_str()));
            let signed = signer.sign(&body);
            let known = secrets(&[&secret]);
            prop_assert_eq!(known.verify(Some(signed.as_bytes()), &body), Ok(()));
            let mut other = body.clone();
            other.push(0);
            prop_assert_eq!(known.verify(Some(signed.as_bytes()), &other), Err(WrongSignature));
            if !body.is_empty() {
                let mut other = body.clone();
                other[flip.index(body.len())] ^= 1;
                prop_assert_eq!(known.verify(Some(signed.as_bytes()), &other), Err(WrongSignature));
            }
        }

        #[test]
        fn nothing_is_shown(secret in "[a-z0-9]{24}") {
            let shown = format!("{:?} {}", secrets(&[&secret]), WrongSignature);
            prop_assert!(!shown.contains(&secret));
        }
    }
}
