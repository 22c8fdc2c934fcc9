//! What the sections for a service come to: checked, complete, with every path absolute.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use engine::service::{Conclusions, Labels};
use secrecy::{ExposeSecret as _, SecretString};

use super::Config;
use super::announce::{self, AnnounceConfig, AnnounceSecrets};
use super::secret::{SecretSource, check_key, check_webhook};
use super::section::{ChecksSection, GithubSection, LogSection, OneOrMore, StoreSection};
use super::store;
use super::words::nearest;
use crate::failure::Failure;
use crate::world::Secrets;

/// Longest time after which somebody can be told that a run is over, seconds.
const LONGEST_NOTIFY: u64 = 604_800;
/// Most runs at once that can be asked for.
const MOST_RUNS: u32 = 64;
/// Seconds that may lie between two looks at the log of deliveries.
const SWEEPS: std::ops::RangeInclusive<u64> = 5..=3600;

/// The configuration of a service. No secret is in it, only where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceConfig {
    /// Where requests are taken.
    pub listen: SocketAddr,
    /// Address under which people reach the service, without a slash at the end.
    pub public_url: Option<String>,
    /// The app.
    pub github: GithubConfig,
    /// Where the service writes down what it does.
    pub store: StoreConfig,
    /// Folder for evidence and mirrors.
    pub data_dir: PathBuf,
    /// Suites that are offered, at least one.
    pub suites: Vec<String>,
    /// Folder of suites that go before those that the program brings along.
    pub suites_dir: Option<PathBuf>,
    /// Folder of templates that go before those that the program brings along.
    pub templates_dir: Option<PathBuf>,
    /// Runs that go on at once, 1 to 64.
    pub runs_at_once: u32,
    /// Seconds between two looks at the log of deliveries, 5 to 3600.
    pub sweep_every_s: u64,
    /// Seconds after which who asked for a run is told in a comment of its own that it is over, at most a week.
    pub notify_after_s: u64,
    /// Whether suites may run on this host.
    pub local_backend: bool,
    /// Calibration files by suite, each of which is offered.
    pub calibrations: BTreeMap<String, PathBuf>,
    /// Repositories that are served, `owner/name`; all that have the app installed where it is empty.
    pub repositories: Vec<String>,
    /// Whether repositories may say something of the suites, in `.github/zephyr-ab.toml` of their default branch.
    pub repository_file: bool,
    /// How checks end.
    pub checks: ChecksConfig,
    /// Who else is told of what happens, if anybody.
    pub announce: Option<AnnounceConfig>,
    /// What a pull request is labelled.
    pub labels: Labels,
    /// What is written to standard error.
    pub log: LogSection,
}

/// How the check of a comparison ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChecksConfig {
    /// By its verdict.
    pub conclusions: Conclusions,
    /// Whether every head gets a check, also one that nothing was measured of: for a check that is required.
    pub always_report: bool,
}

/// The app at GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GithubConfig {
    /// Its number.
    pub app_id: u64,
    /// Its name in addresses.
    pub slug: Option<String>,
    /// Where its private keys are, the one in force first; at least one.
    pub private_keys: Vec<SecretSource>,
    /// Where the secrets of the webhook are; at least one.
    pub webhook_secrets: Vec<SecretSource>,
    /// Where the API is, without a slash at the end.
    pub api_url: String,
    /// Where pages are, without a slash at the end.
    pub web_url: String,
    /// Least time between two writes to one installation, milliseconds.
    pub write_pause_ms: u64,
}

/// Where the address of the store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreConfig {
    /// Here; no password is in it.
    Url(String),
    /// Where secrets are.
    Secret(SecretSource),
}

/// The secrets of a service. Shown, they show nothing.
#[derive(Clone, Debug)]
pub struct ServiceSecrets {
    /// Private keys of the app, the one in force first.
    pub private_keys: Vec<SecretString>,
    /// Secrets of the webhook.
    pub webhook: Vec<SecretString>,
    /// The address of the store.
    pub store_url: SecretString,
    /// The address of whoever else is told of what happens, and the secret.
    pub announce: Option<AnnounceSecrets>,
    /// What a person should know of where they are.
    pub warnings: Vec<String>,
}

impl Config {
    /// What the sections for a service come to.
    ///
    /// # Errors
    /// Everything that is missing or makes no sense, in one line.
    pub fn service(&self) -> Result<ServiceConfig, Failure> {
        let mut wrong = Vec::new();
        let service = self.checked(&mut wrong);
        match service {
            Some(service) if wrong.is_empty() => Ok(service),
            _ => {
                let file = self.file.as_ref().map_or_else(
                    || format!("there is no {} here and --config names no file", super::USUAL),
                    |file| file.display().to_string(),
                );
                Err(Failure::Usage(format!("{file}: {}", wrong.join("; "))))
            }
        }
    }

    fn checked(&self, wrong: &mut Vec<String>) -> Option<ServiceConfig> {
        let folder = self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let at = |path: &PathBuf| folder.join(path);
        let listen = self.server.listen.parse();
        if listen.is_err() {
            wrong.push("server.listen: it is no address and port such as 127.0.0.1:8080".to_owned());
        }
        let public_url =
            self.server.public_url.as_ref().and_then(|url| address("server.public_url", url, false, wrong));
        let github = github(&self.github, folder, wrong);
        let store = store_of(&self.store, folder, wrong);
        let section = &self.service;
        suites(&section.suites, wrong);
        for name in section.calibrations.keys().filter(|name| !section.suites.contains(name)) {
            let known: Vec<&str> = section.suites.iter().map(String::as_str).collect();
            let near = nearest(name, &known).map_or(String::new(), |near| format!("; nearest: {near}"));
            wrong.push(format!("service.calibrations: {name:?} is not among service.suites{near}"));
        }
        if !(1..=MOST_RUNS).contains(&section.runs_at_once) {
            wrong.push(format!("service.runs_at_once: from 1 to {MOST_RUNS}"));
        }
        if !SWEEPS.contains(&section.sweep_every_s) {
            wrong.push(format!("service.sweep_every_s: from {} to {}", SWEEPS.start(), SWEEPS.end()));
        }
        if section.notify_after_s > LONGEST_NOTIFY {
            wrong.push(format!("service.notify_after_s: from 0 to {LONGEST_NOTIFY}"));
        }
        let checks = checks(&self.checks, wrong);
        let announce = announce::announce(&self.announce, folder, wrong);
        let labels = announce::labels(&self.labels, wrong);
        for name in section.repositories.iter().filter(|name| !is_repository(name)) {
            wrong.push(format!("service.repositories: {name:?} is not owner/name"));
        }
        Some(ServiceConfig {
            listen: listen.ok()?,
            public_url,
            github: github?,
            store: store?,
            data_dir: at(&section.data_dir),
            suites: section.suites.clone(),
            suites_dir: section.suites_dir.as_ref().map(at),
            templates_dir: section.templates_dir.as_ref().map(at),
            runs_at_once: section.runs_at_once,
            sweep_every_s: section.sweep_every_s,
            notify_after_s: section.notify_after_s,
            local_backend: section.local_backend,
            calibrations: section.calibrations.iter().map(|(name, path)| (name.clone(), at(path))).collect(),
            repositories: section.repositories.clone(),
            repository_file: section.repository_file,
            checks: checks?,
            announce,
            labels,
            log: self.log,
        })
    }
}

/// The words of `[checks]`. None makes a success of a verdict that proves none.
fn checks(section: &ChecksSection, wrong: &mut Vec<String>) -> Option<ChecksConfig> {
    let mut word = |key: &str, word: &str| {
        let found = Conclusions::WORDS.iter().find(|(known, _)| *known == word).map(|(_, conclusion)| *conclusion);
        if found.is_none() {
            let known = Conclusions::WORDS.map(|(known, _)| known);
            let near = nearest(word, &known).map_or(String::new(), |near| format!("; nearest: {near}"));
            wrong.push(format!("checks.{key}: one of {}{near}", known.join(", ")));
        }
        found
    };
    let (regression, tradeoff) = (word("regression", &section.regression), word("tradeoff", &section.tradeoff));
    let inconclusive = word("inconclusive", &section.inconclusive);
    let conclusions = Conclusions { regression: regression?, tradeoff: tradeoff?, inconclusive: inconclusive? };
    Some(ChecksConfig { conclusions, always_report: section.always_report })
}

impl ServiceConfig {
    /// Reads the secrets and sees whether they are what they should be.
    ///
    /// # Errors
    /// One that is not: where it is, never what it is.
    pub fn secrets(&self, environment: &Secrets) -> Result<ServiceSecrets, Failure> {
        let mut warnings = Vec::new();
        let private_keys = read(&self.github.private_keys, environment, &mut warnings, |key| {
            check_key(key).map_err(ToOwned::to_owned)
        })?;
        let webhook = read(&self.github.webhook_secrets, environment, &mut warnings, check_webhook)?;
        let store_url = self.store_url(environment, &mut warnings)?;
        let announce = self.announce.as_ref().map(|told| told.secrets(environment, &mut warnings)).transpose()?;
        Ok(ServiceSecrets { private_keys, webhook, store_url, announce, warnings })
    }

    /// Reads the secrets of the webhook only.
    ///
    /// # Errors
    /// See [`ServiceConfig::secrets`].
    pub fn webhook_secrets(&self, environment: &Secrets) -> Result<Vec<SecretString>, Failure> {
        self.github.webhook_secrets(environment)
    }

    /// Reads the address of the store only.
    ///
    /// # Errors
    /// See [`ServiceConfig::secrets`].
    pub fn store_address(&self, environment: &Secrets) -> Result<SecretString, Failure> {
        self.store_url(environment, &mut Vec::new())
    }

    fn store_url(&self, environment: &Secrets, warnings: &mut Vec<String>) -> Result<SecretString, Failure> {
        match &self.store {
            StoreConfig::Url(url) => Ok(SecretString::from(url.as_str())),
            StoreConfig::Secret(source) => {
                let check = |url: &SecretString| store::check(url.expose_secret()).map_err(ToOwned::to_owned);
                let mut urls = read(std::slice::from_ref(source), environment, warnings, check)?;
                // One source gives one.
                urls.pop().ok_or_else(|| Failure::Usage(format!("{source}: it is empty")))
            }
        }
    }
}

impl GithubConfig {
    fn webhook_secrets(&self, environment: &Secrets) -> Result<Vec<SecretString>, Failure> {
        read(&self.webhook_secrets, environment, &mut Vec::new(), check_webhook)
    }
}

fn read(
    sources: &[SecretSource],
    environment: &Secrets,
    warnings: &mut Vec<String>,
    check: impl Fn(&SecretString) -> Result<(), String>,
) -> Result<Vec<SecretString>, Failure> {
    let one = |source: &SecretSource| {
        let found = source.read(environment).map_err(Failure::Usage)?;
        check(&found.value).map_err(|why| Failure::Usage(format!("{source}: {why}")))?;
        warnings.extend(found.warning);
        Ok(found.value)
    };
    sources.iter().map(one).collect()
}

fn github(section: &GithubSection, folder: &Path, wrong: &mut Vec<String>) -> Option<GithubConfig> {
    let private_keys = sources(&section.private_key_file, &section.private_key_env, folder);
    let webhook_secrets = sources(&section.webhook_secret_file, &section.webhook_secret_env, folder);
    let missing = [
        (section.app_id.is_none_or(|id| id == 0), "github.app_id"),
        (private_keys.is_empty(), "github.private_key_file or github.private_key_env"),
        (webhook_secrets.is_empty(), "github.webhook_secret_file or github.webhook_secret_env"),
    ];
    let missing: Vec<&str> = missing.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    if !missing.is_empty() {
        wrong.push(format!("missing: {}", missing.join(", ")));
    }
    let is_plain = |slug: &&String| {
        (1..=100).contains(&slug.len()) && slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if section.slug.as_ref().is_some_and(|slug| !is_plain(&slug)) {
        wrong.push("github.slug: the name of the app in addresses, of letters, digits and -".to_owned());
    }
    let api_url = address("github.api_url", &section.api_url, true, wrong);
    let web_url = address("github.web_url", &section.web_url, true, wrong);
    let app_id = section.app_id.filter(|id| *id != 0)?;
    Some(GithubConfig {
        app_id,
        slug: section.slug.clone(),
        private_keys,
        webhook_secrets,
        api_url: api_url?,
        web_url: web_url?,
        write_pause_ms: section.write_pause_ms,
    })
}

/// Those in files before those in variables.
fn sources(files: &OneOrMore<PathBuf>, variables: &OneOrMore<String>, folder: &Path) -> Vec<SecretSource> {
    let files = files.0.iter().map(|path| SecretSource::File(folder.join(path)));
    files.chain(variables.0.iter().cloned().map(SecretSource::Env)).collect()
}

fn store_of(section: &StoreSection, folder: &Path, wrong: &mut Vec<String>) -> Option<StoreConfig> {
    match (&section.url, &section.url_file, &section.url_env) {
        (None, None, None) => Some(StoreConfig::Url(store::USUAL.to_owned())),
        (Some(url), None, None) => {
            if let Err(why) = store::check(url.as_str()) {
                wrong.push(format!("store.url: {why}"));
            }
            Some(StoreConfig::Url(store::resolved(url.as_str(), folder)))
        }
        (None, Some(file), None) => Some(StoreConfig::Secret(SecretSource::File(folder.join(file)))),
        (None, None, Some(name)) => Some(StoreConfig::Secret(SecretSource::Env(name.clone()))),
        _ => {
            wrong.push("store: one of url, url_file and url_env".to_owned());
            None
        }
    }
}

fn suites(names: &[String], wrong: &mut Vec<String>) {
    if names.is_empty() {
        wrong.push("service.suites: at least one".to_owned());
    }
    for (i, name) in names.iter().enumerate().filter(|(i, name)| names[..*i].contains(name)) {
        wrong.push(format!("service.suites: {name:?} stands there twice (place {})", i + 1));
    }
}

/// An address of the web without a slash at the end. Where tokens are sent it must be encrypted, or stay on this host.
fn address(key: &str, text: &str, tokens: bool, wrong: &mut Vec<String>) -> Option<String> {
    let parsed = reqwest::Url::parse(text).ok();
    let refused = match &parsed {
        None => Some("it is no address such as https://host"),
        Some(url) if !url.username().is_empty() || url.password().is_some() => Some("no login may stand in it"),
        Some(url) if url.query().is_some() || url.fragment().is_some() => Some("neither ? nor # may stand in it"),
        Some(url) => {
            let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            let fits = url.scheme() == "https" || (url.scheme() == "http" && (here || !tokens));
            (!fits).then_some("it must begin with https://")
        }
    };
    match refused {
        // The text is not repeated: a login may stand in it.
        Some(why) => {
            wrong.push(format!("{key}: {why}"));
            None
        }
        None => Some(text.trim_end_matches('/').to_owned()),
    }
}

fn is_repository(name: &str) -> bool {
    let is_word = |word: &str| {
        (1..=100).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    name.split_once('/').is_some_and(|(owner, name)| is_word(owner) && is_word(name))
}
