//! `zephyr-ab doctor`: whether what a service and a comparison on a cluster need is there, and what to change where it is not.
//!
//! `checks` and `tables` look at a cluster, `probe` runs a `job` there; `host` looks at what a service needs on this machine
//! (`key` knows the fingerprints of keys), and `app` at the app at the forge. `said` prints what was found.

mod app;
mod asked;
mod checks;
mod host;
mod job;
mod key;
mod probe;
pub(crate) mod said;
mod stop;
mod tables;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use secrecy::ExposeSecret as _;
use suite::{Backend, Suite, SuiteRef};

use self::asked::Asked;
use self::said::{Check, Report};
use super::run::runtime;
use crate::cli::World;
use crate::config::section::GithubSection;
use crate::config::{Config, SecretSource, StoreConfig, TokenConfig, USUAL};
use crate::failure::{Exit, Failure};

/// What `doctor` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
}

/// Checks what a service and its comparisons on clusters need, and says what to change.
///
/// Where the configuration is that of a service, its secrets, its folder and its store are looked at, the app at the forge,
/// and the clusters that its suites run on. With --cluster or --probe only clusters are looked at, with --app only the
/// service is. Nothing is changed by the checks. With --probe the smallest job of a suite is run as well and followed link by link up
/// to its first record; it is ended in any case, also on Ctrl-C. Should this program itself be killed, the controller ends
/// the job soon after it has run as long as --limit says. The exit code is 0 where nothing FAILs, else 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab doctor
  zephyr-ab doctor --app --config /etc/zephyr-ab/zephyr-ab.toml
  zephyr-ab doctor --cluster marin --config /etc/zephyr-ab/zephyr-ab.toml
  zephyr-ab doctor --probe zephyr --repo ../marin --at main
  zephyr-ab doctor --probe rig preset=small stages=minhash --limit 5min")]
pub struct Args {
    /// The configuration, which says how clusters are reached [default: zephyr-ab.toml, where there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of suites that go before those that the program brings along.
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// Check the service and its app, and no cluster.
    #[arg(long, conflicts_with_all = ["clusters", "probe"])]
    app: bool,
    /// Check these clusters [default: that of the probe, or those of the service's suites, or else all that are configured].
    #[arg(long = "cluster", value_name = "NAME")]
    clusters: Vec<String>,
    /// Run the smallest job of this suite: a path that ends in .toml, or a name.
    #[arg(long, value_name = "SUITE")]
    probe: Option<String>,
    /// What the probe runs, as key=value: preset, priority and the suite's parameters [default: the smallest preset and
    /// the first of its steps].
    #[arg(value_name = "KEY=VALUE", requires = "probe")]
    pairs: Vec<String>,
    /// The repository that the probe takes its commit from: a folder, or an https or file URL.
    #[arg(long, value_name = "DIR", default_value = ".", requires = "probe")]
    repo: String,
    /// The commit that the probe runs.
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "probe")]
    at: String,
    /// How long the probe may take.
    #[arg(long, value_name = "TIME", default_value = "15min", requires = "probe", value_parser = limit)]
    limit: suite::unit::Duration,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as --format json.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Whether the service and its app are looked at.
    fn is_for_service(&self, config: &Config) -> bool {
        self.app || (self.clusters.is_empty() && self.probe.is_none() && config.github != GithubSection::default())
    }
}

fn limit(text: &str) -> Result<suite::unit::Duration, String> {
    let parsed: Option<suite::unit::Duration> = text.parse().ok();
    parsed.filter(|limit| limit.0 >= 1000).ok_or_else(|| "expected 1s or more, such as 90s, 15min or 1h".to_owned())
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] for a suite, a pair or a cluster that makes no sense.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let asked = args.probe.as_ref().map(|suite| Asked::new(suite, args)).transpose()?;
    let config = Config::load(args.config.as_deref());
    let names = match &config {
        Ok(config) => names(args, config, asked.as_ref())?,
        Err(_) => Vec::new(),
    };
    let own = config.as_ref().map(secrets).unwrap_or_default();
    let of_service =
        config.as_ref().ok().filter(|config| args.is_for_service(config)).map(|config| of_service(config, world));
    let known = world.machine.secrets.values();
    let secrets: Vec<String> =
        known.iter().map(|&s| s.to_owned()).chain(own).chain(of_service.unwrap_or_default()).collect();
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let mut report = Report::new(world, &secrets, args.json || args.format == Format::Json);
    report.about("this machine", "");
    checks::git(&mut report);
    let config = match config {
        Ok(config) => {
            report.add(Check::ok("configuration", read_from(args, &config)));
            Some(config)
        }
        Err(why) => {
            let todo = "correct the file; config/zephyr-ab.example.toml shows what may stand there";
            report.add(Check::fail("configuration", why.to_string(), todo));
            None
        }
    };
    let service = config.as_ref().filter(|config| args.is_for_service(config)).map(Config::service);
    let folder = match &service {
        Some(Ok(service)) => args.suites.as_deref().or(service.suites_dir.as_deref()),
        _ => args.suites.as_deref(),
    };
    let suites = checks::suites(&mut report, folder, asked.as_ref().map(|asked| &asked.suite));
    if let Some(config) = &config {
        if service.is_some() {
            runtime()?.block_on(whole(config, &mut report));
        }
        if !args.app {
            all(args, config, &names, &suites, asked.as_ref(), &mut report)?;
        }
    } else if args.app {
        report.about("service", "");
        report.add(Check::skipped("all of it", "configuration"));
    } else {
        report.about("clusters", "");
        report.add(Check::skipped("all of them", "configuration"));
    }
    Ok(if report.finish()? { Exit::Done } else { Exit::Failed })
}

/// The clusters that are checked.
fn names(args: &Args, config: &Config, asked: Option<&Asked>) -> Result<Vec<String>, Failure> {
    let mut names = args.clusters.clone();
    match asked {
        Some(asked) if !names.iter().any(|name| name == asked.cluster()) => names.push(asked.cluster().to_owned()),
        None if args.is_for_service(config) => names.extend(of_suites(args, config)),
        None if names.is_empty() => names.extend(config.clusters.keys().cloned()),
        _ => {}
    }
    for name in &names {
        config.cluster(name)?;
    }
    Ok(names)
}

/// The clusters of the suites that a service offers, those that are configured.
fn of_suites(args: &Args, config: &Config) -> Vec<String> {
    let Ok(service) = config.service() else { return Vec::new() };
    let folder = args.suites.as_deref().or(service.suites_dir.as_deref());
    let mut names = Vec::new();
    for name in &service.suites {
        // One that cannot be read, or whose cluster is not configured, is told of among the checks of the service.
        let Ok(suite) = suite::load(&SuiteRef::Name(name.clone()), folder) else { continue };
        let Backend::Iris(of) = &suite.backend else { continue };
        if config.clusters.contains_key(&of.launcher.cluster) && !names.contains(&of.launcher.cluster) {
            names.push(of.launcher.cluster.clone());
        }
    }
    names
}

/// The service, and its app at the forge.
async fn whole(config: &Config, report: &mut Report<'_, '_>) {
    report.about("service", "");
    let found = host::check(report, config).await;
    if let Some((service, host)) = found {
        report.about("app", &service.github.api_url);
        app::check(report, &service, &host).await;
    } else {
        report.about("app", "");
        report.add(Check::skipped("all of it", "complete"));
    }
}

/// The secrets of a service, those that can be read: nothing that is printed may have them.
fn of_service(config: &Config, world: &World<'_>) -> Vec<String> {
    let Ok(service) = config.service() else { return Vec::new() };
    let sources = service.github.private_keys.iter().chain(&service.github.webhook_secrets);
    let store = match &service.store {
        StoreConfig::Secret(source) => Some(source),
        StoreConfig::Url(_) => None,
    };
    let read = |source: &SecretSource| source.read(&world.machine.secrets).ok();
    sources.chain(store).filter_map(read).map(|found| found.value.expose_secret().to_owned()).collect()
}

fn read_from(args: &Args, config: &Config) -> String {
    let file = match &args.config {
        Some(path) => path.display().to_string(),
        None if Path::new(USUAL).is_file() => USUAL.to_owned(),
        None => format!("no {USUAL} here, only what is built in"),
    };
    let known: Vec<&str> = config.clusters.keys().map(String::as_str).collect();
    format!("{file}; clusters: {}", known.join(", "))
}

/// The clusters, and the probe on one of them.
fn all(
    args: &Args,
    config: &Config,
    names: &[String],
    suites: &[Suite],
    asked: Option<&Asked>,
    report: &mut Report<'_, '_>,
) -> Result<(), Failure> {
    let runtime = runtime()?;
    let mut earlier = None;
    for name in names {
        let cluster = config.cluster(name)?;
        let own: Vec<&Suite> = suites.iter().filter(|suite| runs_on(suite, name)).collect();
        let failed = runtime.block_on(checks::cluster(report, config, name, cluster, &own));
        if asked.is_some_and(|asked| asked.cluster() == name) {
            earlier = failed;
        }
    }
    if let Some(asked) = asked {
        probe::run(report, asked, args, earlier)?;
    }
    Ok(())
}

fn runs_on(suite: &Suite, cluster: &str) -> bool {
    matches!(&suite.backend, Backend::Iris(of) if of.launcher.cluster == cluster)
}

/// Tokens that stand in files: nothing that is printed may have them. What cannot be read is told by the checks.
fn secrets(config: &Config) -> Vec<String> {
    let logins = config.clusters.values().flat_map(|cluster| [&cluster.login.proxy, &cluster.login.service]);
    let file = |token: &TokenConfig| match token {
        TokenConfig::File { token_file } => std::fs::read_to_string(token_file).ok(),
        TokenConfig::ServiceAccount { .. } | TokenConfig::Env { .. } => None,
    };
    logins.flatten().filter_map(file).collect()
}
