//! The configuration of the program: which clusters there are and how they are reached. Secrets stand in files or in
//! the environment, never in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;

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
}

/// How a cluster is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// Address of the Iris controller.
    pub controller: String,
    /// Address of Finelog, where it is not reached through the controller.
    pub finelog: Option<String>,
    /// Whose the jobs are, where the controller has no logins.
    #[serde(default = "user")]
    pub user: String,
    /// What calls carry to be let in.
    #[serde(default)]
    pub login: LoginConfig,
}

fn user() -> String {
    "zephyr-ab".to_owned()
}

/// What calls carry to be let in: either, both or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginConfig {
    /// For an identity-aware proxy before the controller: `Proxy-Authorization`.
    pub proxy: Option<TokenConfig>,
    /// For the controller itself: `Authorization`.
    pub service: Option<TokenConfig>,
}

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
pub enum TokenConfig {
    /// From the key of a Google service account, exchanged for an identity token.
    ServiceAccount {
        /// The key file, JSON as Google gives it.
        service_account: PathBuf,
        /// Whom the token is for: the client id of the proxy.
        audience: String,
    },
    /// From a file, as it is.
    File {
        /// The file.
        token_file: PathBuf,
    },
    /// From an environment variable.
    Env {
        /// The name of the variable.
        token_env: String,
    },
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
            config.clusters.extend(Self::parse(&path.display().to_string(), &text)?.clusters);
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

/// The message without the value that it is about: where something is amiss a secret may stand.
fn without_value(message: &str) -> String {
    match message.split_once(", expected ") {
        Some((found, expected)) if !found.starts_with("unknown field") => {
            let kind = found.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            format!("{} value, expected {expected}", kind.trim_end_matches(':').split(' ').next().unwrap_or("invalid"))
        }
        Some(_) => message.to_owned(),
        // Without an expectation it repeats nothing but names.
        None => message.split('"').step_by(2).collect::<Vec<_>>().join("..."),
    }
}

/// The nearest of what the message says is allowed.
fn near(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((found, allowed)) if message.starts_with("unknown field") => {
            nearest(found, allowed).map_or(String::new(), |near| format!("; nearest: {near}"))
        }
        _ => String::new(),
    }
}

fn nearest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    let scored = known.iter().map(|known| (strsim::jaro_winkler(word, known), *known));
    scored.filter(|(score, _)| *score >= 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Config::parse("x.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_built_in_is_a_configuration() {
        let config = Config::parse("built in", BUILT_IN).unwrap();
        assert_eq!(config.cluster("rig").unwrap().user, "zephyr-ab");
        let error = config.cluster("rigg").unwrap_err().to_string();
        assert!(error.contains("known are rig; nearest: rig; add [clusters.rigg]"), "{error}");
    }

    #[test]
    fn the_example_is_a_configuration() {
        let text = include_str!("../../../config/zephyr-ab.example.toml");
        let config = Config::parse("example", text).unwrap();
        let marin = config.cluster("marin").unwrap();
        assert!(matches!(marin.login.proxy, Some(TokenConfig::ServiceAccount { .. })));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = refused("[clusters.a]\ncontroler = \"http://x\"\n");
        assert!(error.starts_with("x.toml:2: unknown field `controler`, expected one of"), "{error}");
        assert!(error.ends_with("nearest: controller"), "{error}");
        for text in [
            "[clusters.a]\n",
            "[clusters]\na = 1\n",
            "x = 1\n",
            "[clusters.a]\ncontroller = \"x\"\nlogin = { proxy = { token = \"t\" } }\n",
        ] {
            assert!(refused(text).starts_with("x.toml:"), "{text}");
        }
    }
}
