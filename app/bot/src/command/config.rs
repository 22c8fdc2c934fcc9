//! `zephyr-ab config check`: whether a service could start with a configuration, and whether it could read what a repository says.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use domain::calibration::CalibrationFile;
use evidence::Templates;
use secrecy::ExposeSecret as _;
use suite::{Backend, Suite, SuiteRef};

use super::run::said;
use crate::cli::World;
use crate::config::{AnnounceConfig, Config, HookPlace, ServiceConfig, ServiceSecrets, StoreConfig, file_of};
use crate::failure::{Exit, Failure};

/// Looks at the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab config check
  zephyr-ab config check --config /etc/zephyr-ab/zephyr-ab.toml")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Check(CheckArgs),
}

/// Reads the configuration of a service and what it names, and says of each part whether it would do.
///
/// Nothing is started, nobody is called, and no secret is shown. Exit code 2 where a part would not do.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab config check
  zephyr-ab config check --config /etc/zephyr-ab/zephyr-ab.toml
  zephyr-ab config check --repository .github/zephyr-ab.toml --suite zephyr")]
struct CheckArgs {
    /// The configuration [default: zephyr-ab.toml, where there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Look at what a repository says instead: its .github/zephyr-ab.toml, against the suites of the configuration that is named,
    /// else against those that the program brings along.
    #[arg(long, value_name = "FILE")]
    repository: Option<PathBuf>,
    /// Look at what the repository says of this suite only: a path that ends in .toml, or a name.
    #[arg(long, value_name = "SUITE", requires = "repository")]
    suite: Option<String>,
}

/// A part, and what it is or what is wrong with it.
type Part = (&'static str, Result<String, String>);

/// Runs the command.
///
/// # Errors
/// A file that is no configuration of a service.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let Action::Check(args) = &args.action;
    if let Some(path) = &args.repository {
        return repository(path, args, world);
    }
    let config = Config::load(args.config.as_deref())?;
    let service = config.service()?;
    let mut parts = vec![listen(&service)];
    let secrets = service.secrets(&world.machine.secrets);
    let warnings = secrets.as_ref().map(|secrets| secrets.warnings.clone()).unwrap_or_default();
    parts.push(("github", github(&service, secrets.as_ref())));
    parts.push(("store", store(&service, secrets.as_ref().ok())));
    if let Some(told) = &service.announce {
        let secrets = secrets.as_ref().map_err(ToString::to_string);
        parts.push(("announce", secrets.map(|_| announce(told))));
    }
    parts.push(("data", writable(&service.data_dir)));
    for name in &service.suites {
        parts.push(("suite", suite(name, &service, &config)));
    }
    parts.push(("templates", templates(service.templates_dir.as_deref())));
    let mut text = String::new();
    for (part, state) in &parts {
        let (word, said) = match state {
            Ok(said) => ("ok", said),
            Err(why) => ("wrong", why),
        };
        // One line: a parser shows more.
        let said = said.lines().next().unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{part:9}  {word:5}  {said}");
    }
    for warning in warnings {
        let _ = writeln!(text, "{:9}  {:5}  {warning}", "secrets", "warn");
    }
    write!(world.stdout, "{text}")?;
    Ok(if parts.iter().all(|(_, state)| state.is_ok()) { Exit::Done } else { Exit::Usage })
}

/// Whether a service could read what a repository says, and what that is.
fn repository(path: &Path, args: &CheckArgs, world: &mut World<'_>) -> Result<Exit, Failure> {
    let usage = |why: &dyn std::fmt::Display| Failure::Usage(why.to_string());
    let (names, folder) = match (&args.suite, &args.config) {
        (Some(name), None) => (vec![name.clone()], None),
        (name, Some(config)) => {
            let service = Config::load(Some(config))?.service()?;
            (name.as_ref().map_or(service.suites, |name| vec![name.clone()]), service.suites_dir)
        }
        (None, None) => (suite::names(None).map_err(|why| usage(&why))?, None),
    };
    let suites = names.iter().map(|name| suite::load(&SuiteRef::from(name.as_str()), folder.as_deref()));
    let suites: Vec<Suite> = suites.collect::<Result<_, _>>().map_err(|why| usage(&why))?;
    let file = said(path)?;
    match (&args.suite, &suites[..]) {
        (Some(_), [one]) => drop(suite::repository::apply(one, &file).map_err(|why| usage(&why))?),
        _ => drop(file.applied(&suites).map_err(|why| usage(&why))?),
    }
    let mut text = format!("{}: it can be read\n", path.display());
    for (suite, lines) in file.says() {
        for line in lines {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{suite:9}  {line}");
        }
    }
    write!(world.stdout, "{text}")?;
    Ok(Exit::Done)
}

fn listen(service: &ServiceConfig) -> Part {
    let repositories = match service.repositories.len() {
        0 => "all repositories that have the app installed".to_owned(),
        1 => "1 repository".to_owned(),
        n => format!("{n} repositories"),
    };
    ("server", Ok(format!("{}, {repositories}, {} at once", service.listen, service.runs_at_once)))
}

fn github(service: &ServiceConfig, secrets: Result<&ServiceSecrets, &Failure>) -> Result<String, String> {
    let secrets = secrets.map_err(ToString::to_string)?;
    let (keys, webhook) = (secrets.private_keys.len(), secrets.webhook.len());
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (keys, webhook) = (count(keys, "private key"), count(webhook, "secret"));
    Ok(format!("app {}, {keys}, {webhook} of the webhook, {}", service.github.app_id, service.github.api_url))
}

fn announce(told: &AnnounceConfig) -> String {
    let place = match &told.url {
        HookPlace::Here(_) => "the address of the configuration".to_owned(),
        HookPlace::Secret(source) => format!("the address in {source}"),
    };
    let events: Vec<&str> = told.events.iter().map(|event| event.word()).collect();
    let signed = if told.secret.is_some() { "signed" } else { "not signed" };
    format!("{} to {place}, {signed}, not called", events.join(", "))
}

fn store(service: &ServiceConfig, secrets: Option<&ServiceSecrets>) -> Result<String, String> {
    let source = match &service.store {
        StoreConfig::Url(url) => url.clone(),
        StoreConfig::Secret(source) => source.to_string(),
    };
    // What is wrong with the secrets was said of them.
    let Some(secrets) = secrets else { return Err(format!("{source}: not looked at before the secrets are right")) };
    match file_of(secrets.store_url.expose_secret()) {
        Some(file) => {
            let folder = file.parent().unwrap_or(Path::new("/"));
            writable(folder).map(|_| source)
        }
        None => Ok(format!("{source}: Postgres, not called")),
    }
}

/// Whether a folder can be written to, or made.
pub(crate) fn writable(folder: &Path) -> Result<String, String> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    if !there.is_dir() {
        return Err(format!("{}: it is no folder", there.display()));
    }
    // Leaves nothing behind.
    tempfile::tempfile_in(there)
        .map_err(|why| format!("{}: it cannot be written to: {}", there.display(), why.kind()))?;
    Ok(if there == folder { folder.display().to_string() } else { format!("{} (will be made)", folder.display()) })
}

/// Whether a suite can be offered, and where it runs.
pub(crate) fn suite(name: &str, service: &ServiceConfig, config: &Config) -> Result<String, String> {
    // A path is no name: what is offered in pull requests is named.
    let suite =
        suite::load(&SuiteRef::Name(name.to_owned()), service.suites_dir.as_deref()).map_err(|e| e.to_string())?;
    let place = match &suite.backend {
        Backend::Local(_) if !service.local_backend => {
            return Err(format!("{name} runs on this host: service.local_backend = true allows that"));
        }
        Backend::Local(_) => "on this host".to_owned(),
        Backend::Iris(cluster) => {
            let name = &cluster.launcher.cluster;
            config.cluster(name).map_err(|why| why.to_string())?;
            format!("on cluster {name}")
        }
    };
    let calibration = match service.calibrations.get(name) {
        Some(path) => calibration(&suite, path)?,
        None => "no calibration".to_owned(),
    };
    Ok(format!("{name} {place}, {calibration}"))
}

/// Whether it is a calibration of this suite. Whether it fits what is run is seen when it is run.
fn calibration(suite: &Suite, path: &Path) -> Result<String, String> {
    let place = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let bytes = std::fs::read(path).map_err(|why| place(&why))?;
    let file = CalibrationFile::parse(&bytes).map_err(|why| place(&why))?;
    if file.suite != suite.name {
        return Err(place(&format!("it is of the suite {}", file.suite)));
    }
    Ok(format!("calibration {}", path.display()))
}

/// Whether the templates can be used.
pub(crate) fn templates(folder: Option<&Path>) -> Result<String, String> {
    match folder {
        Some(folder) => {
            Templates::from_folder(folder).map(|_| folder.display().to_string()).map_err(|why| why.to_string())
        }
        None => Templates::built_in().map(|_| "of the program".to_owned()).map_err(|why| why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::world::Secrets;

    const KEY: &str = include_str!("../config/fixtures/rsa-pkcs1.pem");
    const SECRET: &str = "hunter2hunter2hunter2";

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            place.write("key.pem", KEY);
            place.write("secret", SECRET);
            place
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }

        /// What is said of the least configuration with these lines for `[service]`, without the name of the folder.
        fn check(&self, service: &str) -> (Result<Exit, Failure>, String) {
            use clap::Parser as _;
            let text = format!(
                "[github]\napp_id = 7\nprivate_key_file = \"key.pem\"\nwebhook_secret_file = \"secret\"\n\
                 [store]\nurl = \"sqlite:db/a.db\"\n[service]\ndata_dir = \"data\"\n{service}\n"
            );
            self.write("x.toml", &text);
            let path = self.0.path().join("x.toml");
            let line = Line::try_parse_from(["config", "check", "--config", path.to_str().unwrap()]).unwrap();
            let (exit, printed) = crate::world::tests::with_world(|world| {
                world.machine.secrets = Secrets::default();
                run(&line.args, world)
            });
            assert!(!printed.contains(SECRET) && !printed.contains("PRIVATE KEY"), "{printed}");
            (exit, printed.replace(self.0.path().to_str().unwrap(), "DIR"))
        }
    }

    #[test]
    fn a_configuration_that_would_do() {
        let (exit, printed) = Place::new().check("suites = [\"rig\", \"demo\"]\nlocal_backend = true");
        assert_eq!(exit.unwrap(), Exit::Done);
        insta::assert_snapshot!(printed);
    }

    #[test]
    fn each_part_that_would_not_do() {
        let place = Place::new();
        place.write("key.pem", &KEY[..400]);
        place.write("data", "a file");
        place.write("c.json", "{}");
        fs::create_dir(place.0.path().join("templates")).unwrap();
        place.write("templates/comment.hbs", "{{#if}}");
        let (exit, printed) = place.check(
            "suites = [\"demo\", \"zephyr\", \"rig\", \"zefyr\"]\ncalibrations = { rig = \"c.json\" }\n\
             templates_dir = \"templates\"",
        );
        assert_eq!(exit.unwrap(), Exit::Usage);
        insta::assert_snapshot!(printed);
    }

    #[test]
    fn secrets_are_looked_at() {
        let place = Place::new();
        place.write("secret", "too short");
        let (exit, printed) = place.check("suites = [\"rig\"]");
        assert_eq!(exit.unwrap(), Exit::Usage);
        assert!(printed.contains("DIR/secret: a secret of the webhook has at least 16 characters"), "{printed}");
        place.write("secret", SECRET);
        fs::set_permissions(place.0.path().join("secret"), fs::Permissions::from_mode(0o644)).unwrap();
        let (exit, printed) = place.check("suites = [\"rig\"]");
        assert_eq!(exit.unwrap(), Exit::Done);
        assert!(printed.contains("warn   DIR/secret: everybody on this machine may read it"), "{printed}");
        fs::remove_file(place.0.path().join("secret")).unwrap();
        assert_eq!(place.check("suites = [\"rig\"]").0.unwrap(), Exit::Usage);
    }

    #[test]
    fn who_else_is_told_is_said_without_the_address() {
        let place = Place::new();
        place.write("url", "https://chat.example/hunter2hunter2hunter2");
        let more = "suites = [\"rig\"]\n[announce]\nurl_file = \"url\"\nsecret_file = \"secret\"\nevents = [\"verdict\", \"ended\"]";
        let (exit, printed) = place.check(more);
        assert_eq!(exit.unwrap(), Exit::Done);
        assert!(
            printed.contains("announce   ok     verdict, ended to the address in DIR/url, signed, not called"),
            "{printed}"
        );
        place.write("url", "http://chat.example/hunter2hunter2hunter2");
        let (exit, printed) = place.check(more);
        assert_eq!(exit.unwrap(), Exit::Usage);
        assert!(printed.contains("announce   wrong  DIR/url: it must begin with https://"), "{printed}");
    }

    #[test]
    fn what_is_no_configuration_of_a_service() {
        let (exit, _) = Place::new().check("suites = []");
        let failure = exit.unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.to_string().ends_with("x.toml: service.suites: at least one"), "{failure}");
    }
}
