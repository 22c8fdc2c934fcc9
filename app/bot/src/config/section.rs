//! The sections for a service as they stand in the file. [`super::service`] is what they come to.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::store::StoreUrl;

/// `[server]`: where requests are taken.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSection {
    /// Address and port.
    pub listen: String,
    /// Address under which people reach the service, for links.
    pub public_url: Option<String>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self { listen: "127.0.0.1:8080".to_owned(), public_url: None }
    }
}

/// `[github]`: the app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GithubSection {
    /// The number of the app.
    pub app_id: Option<u64>,
    /// The name of the app in addresses.
    pub slug: Option<String>,
    /// Files with private keys of the app, the one in force first.
    pub private_key_file: OneOrMore<PathBuf>,
    /// Variables with private keys of the app, after those in files.
    pub private_key_env: OneOrMore<String>,
    /// Files with secrets of the webhook; each of them counts.
    pub webhook_secret_file: OneOrMore<PathBuf>,
    /// Variables with secrets of the webhook; each of them counts.
    pub webhook_secret_env: OneOrMore<String>,
    /// Where the API is.
    pub api_url: String,
    /// Where pages are.
    pub web_url: String,
    /// Least time between two writes to one installation, milliseconds.
    pub write_pause_ms: u64,
}

impl Default for GithubSection {
    fn default() -> Self {
        Self {
            app_id: None,
            slug: None,
            private_key_file: OneOrMore::default(),
            private_key_env: OneOrMore::default(),
            webhook_secret_file: OneOrMore::default(),
            webhook_secret_env: OneOrMore::default(),
            api_url: "https://api.github.com".to_owned(),
            web_url: "https://github.com".to_owned(),
            write_pause_ms: 1000,
        }
    }
}

/// `[store]`: where the service writes down what it does. One of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSection {
    /// An address without a password.
    pub url: Option<StoreUrl>,
    /// A file with an address.
    pub url_file: Option<PathBuf>,
    /// A variable with an address.
    pub url_env: Option<String>,
}

/// `[service]`: what is done.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceSection {
    /// Folder for evidence and mirrors.
    pub data_dir: PathBuf,
    /// Suites that are offered.
    pub suites: Vec<String>,
    /// Folder of suites that go before those that the program brings along.
    pub suites_dir: Option<PathBuf>,
    /// Folder of templates that go before those that the program brings along.
    pub templates_dir: Option<PathBuf>,
    /// Runs that go on at once.
    pub runs_at_once: u32,
    /// Seconds between two looks at the log of deliveries.
    pub sweep_every_s: u64,
    /// Seconds after which who asked for a run is told in a comment of its own that it is over.
    pub notify_after_s: u64,
    /// Whether suites may run on this host.
    pub local_backend: bool,
    /// What is known of the noise, by suite.
    pub calibrations: BTreeMap<String, PathBuf>,
    /// Repositories that are served; all that have the app installed where it is empty.
    pub repositories: Vec<String>,
    /// Whether repositories may say something of the suites.
    pub repository_file: bool,
}

impl Default for ServiceSection {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("/var/lib/zephyr-ab"),
            suites: vec!["zephyr".to_owned(), "demo".to_owned()],
            suites_dir: None,
            templates_dir: None,
            runs_at_once: 1,
            sweep_every_s: 180,
            notify_after_s: 900,
            local_backend: false,
            calibrations: BTreeMap::new(),
            repositories: Vec::new(),
            repository_file: true,
        }
    }
}

/// `[checks]`: how the check of a comparison ends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChecksSection {
    /// Where the verdict is a regression.
    pub regression: String,
    /// Where it is a tradeoff.
    pub tradeoff: String,
    /// Where it is inconclusive.
    pub inconclusive: String,
    /// Whether every head gets a check, also one that nothing was measured of.
    pub always_report: bool,
}

impl Default for ChecksSection {
    fn default() -> Self {
        let usual = engine::service::Conclusions::default();
        Self {
            regression: usual.regression.word().to_owned(),
            tradeoff: usual.tradeoff.word().to_owned(),
            inconclusive: usual.inconclusive.word().to_owned(),
            always_report: false,
        }
    }
}

/// `[log]`: what is written to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    /// How a line reads.
    pub format: LogFormat,
    /// What is left out.
    pub level: LogLevel,
}

/// How a line of the log reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one object a line.
    Json,
}

/// From here on lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What went wrong.
    Error,
    /// What may go wrong.
    Warn,
    /// What happens.
    #[default]
    Info,
    /// What is done about it.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// As `tracing` has it.
    #[must_use]
    pub fn level(self) -> tracing::Level {
        match self {
            Self::Error => tracing::Level::ERROR,
            Self::Warn => tracing::Level::WARN,
            Self::Info => tracing::Level::INFO,
            Self::Debug => tracing::Level::DEBUG,
            Self::Trace => tracing::Level::TRACE,
        }
    }
}

/// A text, or a list of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOrMore<T>(pub Vec<T>);

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: From<String>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Vec<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(vec![text.to_owned()])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(texts)
            }
        }
        Ok(Self(deserializer.deserialize_any(Texts)?.into_iter().map(T::from).collect()))
    }
}
