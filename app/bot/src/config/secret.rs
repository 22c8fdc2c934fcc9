//! Secrets: where they are, and that they are what they should be. None of them is ever shown.

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret as _, SecretString};

use crate::world::{Secrets, is_named_like_a_secret};

/// Largest file with a secret, bytes.
const LARGEST: u64 = 64 << 10;
/// Fewest characters of a secret of the webhook.
const SHORTEST: usize = 16;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// In a file, white space around it left out.
    File(PathBuf),
    /// In an environment variable whose name says that it is a secret.
    Env(String),
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Env(name) => write!(f, "variable {name}"),
        }
    }
}

/// A secret that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The secret.
    pub value: SecretString,
    /// What a person should know of where it is.
    pub warning: Option<String>,
}

impl SecretSource {
    /// Reads it.
    ///
    /// # Errors
    /// It is not there, is empty, or everybody could have written it.
    pub fn read(&self, environment: &Secrets) -> Result<Found, String> {
        let (text, warning) = match self {
            Self::File(path) => self.file(path)?,
            Self::Env(name) => {
                // What is named unlike a secret may be the secret itself, put in the wrong place.
                if !is_named_like_a_secret(name) {
                    return Err("the name of a variable with a secret says so, as in A_SECRET".to_owned());
                }
                let value = environment.named(name).ok_or_else(|| format!("the environment has no {self}"))?;
                (value.to_owned(), None)
            }
        };
        let text = SecretString::from(text.trim());
        if text.expose_secret().is_empty() {
            return Err(format!("{self}: it is empty"));
        }
        Ok(Found { value: text, warning })
    }

    fn file(&self, path: &std::path::Path) -> Result<(String, Option<String>), String> {
        let place = |why: &dyn fmt::Display| format!("{self}: {why}");
        let about = std::fs::metadata(path).map_err(|why| place(&why))?;
        if !about.is_file() {
            return Err(place(&"it is no file"));
        }
        if about.len() > LARGEST {
            return Err(place(&format!("it is larger than {LARGEST} bytes")));
        }
        let mode = about.permissions().mode();
        if mode & 0o002 != 0 {
            return Err(place(&"everybody may write it: chmod o-w"));
        }
        // A mounted secret is often such a file, so it is no reason to refuse it.
        let warning = (mode & 0o004 != 0).then(|| place(&"everybody on this machine may read it: chmod o-r"));
        let bytes = std::fs::read(path).map_err(|why| place(&why))?;
        let text = String::from_utf8(bytes).map_err(|_| place(&"it is not text"))?;
        Ok((text, warning))
    }
}

/// Whether it is an RSA key in PEM that can sign.
pub(crate) fn check_key(key: &SecretString) -> Result<(), &'static str> {
    const WRONG: &str = "it is no RSA private key in PEM (PKCS#1 or PKCS#8)";
    let key = EncodingKey::from_rsa_pem(key.expose_secret().as_bytes()).map_err(|_| WRONG)?;
    // Only using it tells whether all of it is there.
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), &serde_json::json!({}), &key).map(|_| ()).map_err(|_| WRONG)
}

/// Whether it is long enough for a secret of the webhook.
pub(crate) fn check_webhook(secret: &SecretString) -> Result<(), String> {
    if secret.expose_secret().chars().count() < SHORTEST {
        return Err(format!("a secret of the webhook has at least {SHORTEST} characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn who_may_touch_a_file_matters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, " hunter2hunter2hunter2\n").unwrap();
        let read = |mode: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            SecretSource::File(path.clone()).read(&Secrets::default())
        };
        for mode in [0o600, 0o640, 0o400] {
            let found = read(mode).unwrap();
            assert_eq!((found.value.expose_secret(), found.warning), ("hunter2hunter2hunter2", None));
        }
        assert!(read(0o644).unwrap().warning.unwrap().ends_with("chmod o-r"));
        assert!(read(0o602).unwrap_err().ends_with("chmod o-w"));
    }

    #[test]
    fn what_is_no_secret_is_named_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            SecretSource::File(path).read(&Secrets::default()).unwrap_err()
        };
        assert!(of("empty", b" \n").ends_with("empty: it is empty"));
        assert!(of("bytes", b"\xff").ends_with("bytes: it is not text"));
        assert!(of("large", &vec![b'x'; 70_000]).contains("larger than"));
        assert!(SecretSource::File(folder.path().to_owned()).read(&Secrets::default()).is_err());
        assert!(SecretSource::File(folder.path().join("absent")).read(&Secrets::default()).is_err());
        let environment = Secrets::of([("A_TOKEN", "value"), ("PLAIN", "value")]);
        let named = |name: &str| SecretSource::Env(name.to_owned()).read(&environment);
        assert_eq!(named("A_TOKEN").unwrap().value.expose_secret(), "value");
        assert!(named("B_TOKEN").unwrap_err().ends_with("no variable B_TOKEN"));
        assert!(!named("PLAIN").unwrap_err().contains("PLAIN"));
    }

    #[test]
    fn keys_are_tried() {
        let whole = include_str!("fixtures/rsa-pkcs1.pem");
        assert_eq!(check_key(&SecretString::from(whole)), Ok(()));
        assert_eq!(check_key(&SecretString::from(include_str!("fixtures/rsa-pkcs8.pem"))), Ok(()));
        let lines: Vec<&str> = whole.lines().collect();
        let cut = [&lines[..5], &lines[lines.len() - 1..]].concat().join("\n");
        for wrong in
            [cut.as_str(), "", "hunter2", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"]
        {
            assert!(check_key(&SecretString::from(wrong)).is_err(), "{wrong}");
        }
    }
}
