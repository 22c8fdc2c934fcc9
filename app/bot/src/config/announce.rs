//! `[announce]` and `[labels]`: who else is told of what happens, and what a pull request is labelled.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use domain::ports::Happening;
use engine::service::Labels;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::secret::{SecretSource, check_webhook};
use super::words::nearest;
use crate::failure::Failure;
use crate::world::Secrets;

/// Longest name of a label, characters: GitHub's limit.
const LONGEST_LABEL: usize = 50;

/// An address that may have a secret in it. Shown, it shows nothing.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct HookUrl(String);

impl fmt::Debug for HookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookUrl")
    }
}

/// `[announce]`: who else is told of what happens. One of the three addresses, or nobody is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnnounceSection {
    /// An address.
    pub url: Option<HookUrl>,
    /// A file with it.
    pub url_file: Option<PathBuf>,
    /// A variable with it.
    pub url_env: Option<String>,
    /// A file with a secret that what is sent is signed with.
    pub secret_file: Option<PathBuf>,
    /// A variable with it.
    pub secret_env: Option<String>,
    /// What is told; all of it where nothing is named.
    pub events: Option<Vec<String>>,
}

/// `[labels]`: what a pull request is labelled. A state without one, or with an empty one, has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LabelsSection {
    /// Nothing got worse.
    pub pass: String,
    /// Proven to cost more than is tolerated.
    pub regression: String,
    /// One of CPU and elapsed time got better, the other worse.
    pub tradeoff: String,
    /// Nothing is proven.
    pub inconclusive: String,
    /// Being planned, waiting or running.
    pub running: String,
}

/// Where an address is that may have a secret in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookPlace {
    /// Here.
    Here(HookUrl),
    /// Where secrets are.
    Secret(SecretSource),
}

/// Who else is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnounceConfig {
    /// Where the address is.
    pub url: HookPlace,
    /// Where the secret is, if what is sent is to be signed.
    pub secret: Option<SecretSource>,
    /// What is told, at least one.
    pub events: BTreeSet<Happening>,
}

/// The secrets of whoever else is told. Shown, they show nothing.
#[derive(Clone, Debug)]
pub struct AnnounceSecrets {
    /// The address.
    pub url: SecretString,
    /// What is sent is signed with this.
    pub secret: Option<SecretString>,
}

/// Whether something can be sent there: encrypted, or without leaving this host. Nothing of it is repeated.
fn check(text: &str) -> Result<(), &'static str> {
    let Ok(url) = reqwest::Url::parse(text) else { return Err("it is no address such as https://host/path") };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("no login may stand in it");
    }
    if url.fragment().is_some() {
        return Err("no # may stand in it");
    }
    let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if url.scheme() == "https" || (url.scheme() == "http" && here) {
        Ok(())
    } else {
        Err("it must begin with https://, or lead to this host")
    }
}

/// Who else is told; nobody where no address is named.
pub(super) fn announce(section: &AnnounceSection, folder: &Path, wrong: &mut Vec<String>) -> Option<AnnounceConfig> {
    let events = events(section.events.as_deref(), wrong);
    let secret = match (&section.secret_file, &section.secret_env) {
        (Some(_), Some(_)) => {
            wrong.push("announce: one of secret_file and secret_env".to_owned());
            None
        }
        (Some(file), None) => Some(SecretSource::File(folder.join(file))),
        (None, name) => name.clone().map(SecretSource::Env),
    };
    let url = match (&section.url, &section.url_file, &section.url_env) {
        (None, None, None) => {
            if *section != AnnounceSection::default() {
                wrong.push("announce: missing: url_file, url_env or url".to_owned());
            }
            return None;
        }
        (Some(url), None, None) => {
            if let Err(why) = check(&url.0) {
                wrong.push(format!("announce.url: {why}"));
            }
            HookPlace::Here(url.clone())
        }
        (None, Some(file), None) => HookPlace::Secret(SecretSource::File(folder.join(file))),
        (None, None, Some(name)) => HookPlace::Secret(SecretSource::Env(name.clone())),
        _ => {
            wrong.push("announce: one of url_file, url_env and url".to_owned());
            return None;
        }
    };
    Some(AnnounceConfig { url, secret, events })
}

fn events(named: Option<&[String]>, wrong: &mut Vec<String>) -> BTreeSet<Happening> {
    let Some(named) = named else { return Happening::ALL.into() };
    if named.is_empty() {
        wrong.push("announce.events: at least one, or leave it out for all".to_owned());
    }
    let known = Happening::ALL.map(Happening::word);
    let mut found = BTreeSet::new();
    for name in named {
        if let Some(event) = Happening::ALL.into_iter().find(|event| event.word() == name) {
            found.insert(event);
        } else {
            let near = nearest(name, &known).map_or(String::new(), |near| format!("; nearest: {near}"));
            wrong.push(format!("announce.events: of {}{near}", known.join(", ")));
        }
    }
    found
}

/// The labels, as far as they are names that a label can have.
pub(super) fn labels(section: &LabelsSection, wrong: &mut Vec<String>) -> Labels {
    let mut label = |key: &str, name: &str| {
        if name.trim() != name || name.chars().count() > LONGEST_LABEL || name.chars().any(char::is_control) {
            wrong.push(format!("labels.{key}: up to {LONGEST_LABEL} characters on one line, no space around them"));
        }
        (!name.is_empty()).then(|| name.to_owned())
    };
    Labels {
        pass: label("pass", &section.pass),
        regression: label("regression", &section.regression),
        tradeoff: label("tradeoff", &section.tradeoff),
        inconclusive: label("inconclusive", &section.inconclusive),
        running: label("running", &section.running),
    }
}

impl AnnounceConfig {
    /// Reads the address and the secret.
    ///
    /// # Errors
    /// One that is not what it should be: where it is, never what it is.
    pub(super) fn secrets(
        &self,
        environment: &Secrets,
        warnings: &mut Vec<String>,
    ) -> Result<AnnounceSecrets, Failure> {
        let mut read = |source: &SecretSource| -> Result<SecretString, Failure> {
            let found = source.read(environment).map_err(Failure::Usage)?;
            warnings.extend(found.warning);
            Ok(found.value)
        };
        let usage = |source: &SecretSource, why: &str| Failure::Usage(format!("{source}: {why}"));
        let url = match &self.url {
            HookPlace::Here(url) => SecretString::from(url.0.as_str()),
            HookPlace::Secret(source) => {
                let url = read(source)?;
                check(url.expose_secret()).map_err(|why| usage(source, why))?;
                url
            }
        };
        let secret = match &self.secret {
            Some(source) => {
                let secret = read(source)?;
                check_webhook(&secret).map_err(|why| usage(source, &why))?;
                Some(secret)
            }
            None => None,
        };
        Ok(AnnounceSecrets { url, secret })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for good in
            ["https://chat.example/hook/T0/x?key=1", "http://127.0.0.1:8/", "http://localhost/", "http://[::1]:9/x"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "x",
            "http://chat.example/",
            "ftp://127.0.0.1/",
            "https://u:p@h/",
            "https://u@h/",
            "https://h/#a",
            "http://127.0.0.1.evil.example/",
            "file:///etc/passwd",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_not_shown() {
        let section: AnnounceSection = toml::from_str("url = \"https://h/hunter2\"").unwrap();
        let mut wrong = Vec::new();
        let config = announce(&section, Path::new("/etc"), &mut wrong).unwrap();
        let secrets = config.secrets(&Secrets::default(), &mut Vec::new()).unwrap();
        assert_eq!(secrets.url.expose_secret(), "https://h/hunter2");
        assert!(!format!("{section:?} {config:?} {secrets:?}").contains("hunter2"));
        assert_eq!((wrong.len(), config.events.len()), (0, 6));
    }

    #[test]
    fn a_secret_in_a_file_or_variable() {
        let section: AnnounceSection =
            toml::from_str("url_env = \"HOOK_SECRET_URL\"\nsecret_env = \"HOOK_SECRET\"\nevents = [\"verdict\"]")
                .unwrap();
        let config = announce(&section, Path::new("/etc"), &mut Vec::new()).unwrap();
        let with = |url: &str, secret: &str| {
            let environment = Secrets::of([("HOOK_SECRET_URL", url), ("HOOK_SECRET", secret)]);
            config.secrets(&environment, &mut Vec::new()).map_err(|why| why.to_string())
        };
        let good = with("https://h/x", "0123456789abcdef").unwrap();
        assert_eq!(good.secret.unwrap().expose_secret(), "0123456789abcdef");
        let error = with("http://hunter2.example/", "0123456789abcdef").unwrap_err();
        assert!(error.starts_with("variable HOOK_SECRET_URL: it must begin") && !error.contains("hunter2"), "{error}");
        assert!(with("https://h/x", "hunter2").unwrap_err().contains("at least 16 characters"));
    }
}
