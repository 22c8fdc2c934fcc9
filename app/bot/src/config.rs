//! The configuration of the program: which clusters there are and how they are reached ([`cluster`]), and what a service
//! is told ([`section`]), which comes to a [`ServiceConfig`]. Secrets stand in files or in the environment, never in it:
//! [`secret`].

mod announce;
mod cluster;
pub mod secret;
pub mod section;
mod service;
mod store;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use announce::{AnnounceConfig, AnnounceSecrets, AnnounceSection, HookPlace, HookUrl, LabelsSection};
pub use cluster::{ClusterConfig, LoginConfig, TokenConfig};
pub use secret::SecretSource;
pub use section::{LogFormat, LogLevel, LogSection};
pub use service::{ChecksConfig, GithubConfig, ServiceConfig, ServiceSecrets, StoreConfig};
pub use store::file_of;

use crate::failure::Failure;
use section::{ChecksSection, GithubSection, ServerSection, ServiceSection, StoreSection};
use words::{near, nearest, without_value};

/// The file that is read where none is named.
pub const USUAL: &str = "zephyr-ab.toml";
/// Largest configuration, bytes.
const LARGEST: u64 = 1 << 20;
/// The cluster that the scripts of `tests/rig` start: known without a configuration.
const BUILT_IN: &str = r#"
[clusters.rig]
controller = "http://127.0.0.1:10000"
finelog    = "http://127.0.0.1:10001"
"#;

/// The configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Clusters by the name that suites have for them.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// Where requests are taken.
    #[serde(default)]
    pub server: ServerSection,
    /// The app.
    #[serde(default)]
    pub github: GithubSection,
    /// Where a service writes down what it does.
    #[serde(default)]
    pub store: StoreSection,
    /// What a service does.
    #[serde(default)]
    pub service: ServiceSection,
    /// How checks end.
    #[serde(default)]
    pub checks: ChecksSection,
    /// Who else is told of what happens.
    #[serde(default)]
    pub announce: AnnounceSection,
    /// What a pull request is labelled.
    #[serde(default)]
    pub labels: LabelsSection,
    /// What is written to standard error.
    #[serde(default)]
    pub log: LogSection,
    /// The file that was read: relative paths are seen from its folder.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

impl Config {
    /// Reads the named file, or `zephyr-ab.toml` of the folder where there is one. What is built in is known besides.
    ///
    /// # Errors
    /// A file that cannot be read or is no configuration: the place and what is allowed there.
    pub fn load(named: Option<&Path>) -> Result<Self, Failure> {
        let usual = Path::new(USUAL);
        let path = named.or_else(|| usual.is_file().then_some(usual));
        let mut config = Self::parse("built in", BUILT_IN)?;
        if let Some(path) = path {
            let place = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
            let file = std::fs::metadata(path).map_err(|why| place(why.to_string()))?;
            if file.len() > LARGEST {
                return Err(place(format!("larger than {LARGEST} bytes")));
            }
            let text = std::fs::read_to_string(path).map_err(|why| place(why.to_string()))?;
            let mut read = Self::parse(&path.display().to_string(), &text)?;
            let file = std::path::absolute(path).map_err(|why| place(why.to_string()))?;
            let folder = file.parent().unwrap_or(Path::new("/"));
            for cluster in read.clusters.values_mut() {
                cluster.login.seen_from(folder);
            }
            config.clusters.extend(read.clusters);
            config = Self { clusters: config.clusters, file: Some(file), ..read };
        }
        Ok(config)
    }

    fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let message = without_value(&error.message().replace('\n', " "));
            Failure::Usage(format!("{file}:{line}: {message}{}", near(&message)))
        })
    }

    /// The cluster of a name.
    ///
    /// # Errors
    /// There is none: which there are, and the nearest.
    pub fn cluster(&self, name: &str) -> Result<&ClusterConfig, Failure> {
        self.clusters.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.clusters.keys().map(String::as_str).collect();
            let near = nearest(name, &known).map_or(String::new(), |near| format!("; nearest: {near}"));
            Failure::Usage(format!(
                "there is no cluster {name:?} in the configuration; known are {}{near}; add [clusters.{name}] to {USUAL} \
                 or to the file of --config",
                known.join(", ")
            ))
        })
    }
}
