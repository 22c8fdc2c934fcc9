//! What a service needs on this machine: its configuration, its secrets, its folder, its store.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use domain::ports::Desk as _;
use secrecy::{ExposeSecret as _, SecretString};
use store::{Options, SqlStore, Tables, tables};

use super::key;
use super::said::{Check, Report};
use crate::command::config::{suite, templates, writable};
use crate::config::secret::{Found, check_key, check_webhook};
use crate::config::{Config, SecretSource, ServiceConfig};

/// Secrets that stand in instructions and examples.
const EXAMPLES: [&str; 4] =
    ["it's a secret to everybody", "hunter2hunter2hunter2", "a secret of the sandbox", "mysecretmysecret"];
/// With less room than this no service works for long, bytes.
const LITTLE: u64 = 1 << 30;
/// With less room than this it will not be long, bytes.
const SMALL: u64 = 10 << 30;
/// Characters of a secret that cannot be guessed.
const LONG: usize = 32;
/// Different characters of one.
const DIFFERENT: usize = 8;

/// What of a service can be used for asking the forge.
pub(super) struct Host {
    /// Where each key that can sign is, and the key.
    pub(super) keys: Vec<(String, SecretString)>,
}

/// All of it. `None` where the configuration is none of a service.
pub(super) async fn check(report: &mut Report<'_, '_>, config: &Config) -> Option<(ServiceConfig, Host)> {
    let service = match config.service() {
        Ok(service) => {
            let said =
                format!("app {} at {}, listens on {}", service.github.app_id, service.github.api_url, service.listen);
            report.add(Check::ok("complete", said));
            service
        }
        Err(why) => {
            report.add(Check::fail(
                "complete",
                why.to_string(),
                "correct it; config/zephyr-ab.example.toml has every key",
            ));
            return None;
        }
    };
    for name in &service.suites {
        report.add(match suite(name, &service, config) {
            Ok(said) => Check::ok("suite", said),
            Err(why) => Check::fail("suite", one_line(&why), "correct it, or take it out of service.suites"),
        });
    }
    if let Err(why) = templates(service.templates_dir.as_deref()) {
        report.add(Check::fail("templates", one_line(&why), "correct them, or take service.templates_dir away"));
    }
    let keys = private_keys(report, &service);
    webhook(report, &service);
    data(report, &service.data_dir);
    store(report, &service).await;
    Some((service, Host { keys }))
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The value of a secret, and whether it is one that others can read.
fn read(report: &Report<'_, '_>, source: &SecretSource) -> Result<Found, String> {
    source.read(&report.world.machine.secrets)
}

fn mode(source: &SecretSource) -> String {
    let SecretSource::File(path) = source else { return String::new() };
    let mode = std::fs::metadata(path).map(|about| about.permissions().mode() & 0o777);
    mode.map(|mode| format!(", mode {mode:04o}")).unwrap_or_default()
}

fn private_keys(report: &mut Report<'_, '_>, service: &ServiceConfig) -> Vec<(String, SecretString)> {
    const ANOTHER: &str = "make a private key in the settings of the app, and name its file in github.private_key_file";
    let mut keys = Vec::new();
    for source in &service.github.private_keys {
        let found = match read(report, source) {
            Ok(found) => found,
            Err(why) => {
                report.add(Check::fail(
                    "private key",
                    why,
                    format!("{ANOTHER}; only the service reads it (chmod 600)"),
                ));
                continue;
            }
        };
        if let Err(why) = check_key(&found.value) {
            report.add(Check::fail("private key", format!("{source}: {why}"), ANOTHER));
            continue;
        }
        let print = key::fingerprint(found.value.expose_secret());
        let print = print.map_or_else(String::new, |(form, print)| format!(", {}, {print}", form.word()));
        let said = format!("{source}{}{print}", mode(source));
        report.add(match found.warning {
            Some(_) => {
                Check::warn("private key", said, format!("chmod 600 {source}: others on this machine can read it"))
            }
            None => Check::ok("private key", said),
        });
        keys.push((source.to_string(), found.value));
    }
    keys
}

fn webhook(report: &mut Report<'_, '_>, service: &ServiceConfig) {
    const ANOTHER: &str =
        "make another one, such as by openssl rand -hex 32, for the file and for the settings of the app";
    // The sandbox has the same one for everybody.
    let real = !service.github.api_url.starts_with("http://");
    for source in &service.github.webhook_secrets {
        let found = match read(report, source) {
            Ok(found) => found,
            Err(why) => {
                report.add(Check::fail("webhook secret", why, ANOTHER));
                continue;
            }
        };
        let text = found.value.expose_secret();
        let (length, mut all) = (text.chars().count(), text.chars().collect::<Vec<_>>());
        all.sort_unstable();
        all.dedup();
        let said = format!("{source}{}, {length} characters", mode(source));
        let weak = length < LONG || all.len() < DIFFERENT;
        report.add(if let Err(why) = check_webhook(&found.value) {
            Check::fail("webhook secret", format!("{source}: {why}"), ANOTHER)
        } else if real && EXAMPLES.contains(&text.to_lowercase().as_str()) {
            Check::fail(
                "webhook secret",
                format!("{source}: it stands in examples, so that everybody knows it"),
                ANOTHER,
            )
        } else if found.warning.is_some() {
            Check::warn("webhook secret", said, format!("chmod 600 {source}: others on this machine can read it"))
        } else if real && weak {
            Check::warn("webhook secret", format!("{said}, which can be guessed"), ANOTHER)
        } else {
            Check::ok("webhook secret", said)
        });
    }
}

/// The folder of a path, or the nearest above it that is there.
fn there(folder: &Path) -> PathBuf {
    folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder).to_owned()
}

/// Bytes that are free for us in a folder.
fn free(folder: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(there(folder)).ok()?;
    about.f_bavail.checked_mul(about.f_frsize)
}

fn data(report: &mut Report<'_, '_>, folder: &Path) {
    let said = match writable(folder) {
        Ok(said) => said,
        Err(why) => {
            let todo = "give the folder of service.data_dir to the user that the service runs as, or name another one";
            return report.add(Check::fail("data folder", why, todo));
        }
    };
    let room = "make room: evidence and mirrors of repositories are kept there";
    report.add(match free(folder) {
        None => {
            Check::warn("data folder", format!("{said}, free space not known"), "see that it has at least 10 GiB free")
        }
        Some(free) => {
            #[allow(clippy::cast_precision_loss)] // for people
            let said = format!("{said}, {:.1} GiB free", free as f64 / f64::from(1 << 30));
            match free {
                ..LITTLE => Check::fail("data folder", said, room),
                LITTLE..SMALL => Check::warn("data folder", said, room),
                SMALL.. => Check::ok("data folder", said),
            }
        }
    });
}

async fn store(report: &mut Report<'_, '_>, service: &ServiceConfig) {
    let url = match service.store_address(&report.world.machine.secrets) {
        Ok(url) => url,
        Err(why) => return report.add(Check::fail("database", why.to_string(), "correct [store]")),
    };
    let url = url.expose_secret();
    let engine = if url.starts_with("sqlite:") { "SQLite" } else { "PostgreSQL" };
    report.add(match tables(url).await {
        Err(why) => {
            let todo = "see that [store] names it, that it runs, and that the user of the service may write it";
            Check::fail("database", why.to_string(), todo)
        }
        Ok(Tables::Newer { found, known }) => {
            let said = format!("{engine}, tables of version {found}; this program knows them up to version {known}");
            Check::fail("database", said, "install the newer zephyr-ab that made them, or go back to a copy of before")
        }
        Ok(Tables::Older { found }) => {
            Check::ok("database", format!("{engine}, tables of version {found}, which serve brings up to date"))
        }
        Ok(Tables::None) => match crate::config::file_of(url) {
            Some(file) => match writable(file.parent().unwrap_or(Path::new("/"))) {
                Ok(_) => Check::ok("database", format!("{engine}, {} is made by serve", file.display())),
                Err(why) => Check::fail("database", why, "see [store]: the folder of the file must be writable"),
            },
            None => Check::ok("database", format!("{engine}, empty: serve makes the tables")),
        },
        Ok(Tables::Current { found }) => match written(url).await {
            Ok(counts) => {
                Check::ok("database", format!("{engine}, tables of version {found}, can be written to; {counts}"))
            }
            Err(why) => Check::fail(
                "database",
                why,
                "see that the user of the service may write it, and that its disk is not full",
            ),
        },
    });
}

/// Writes nothing new into a store that is up to date, and says how much is open in it.
async fn written(url: &str) -> Result<String, String> {
    let store =
        SqlStore::open(url, Options { readers: 1, ..Options::default() }).await.map_err(|why| why.to_string())?;
    let counts = async {
        store.alive().await?;
        store.counts(crate::service::inbox::HANDLER).await
    };
    let counts = counts.await.map_err(|why| why.to_string());
    store.close().await;
    let counts = counts?;
    Ok(format!(
        "{} runs go on, {} deliveries wait, {} things to be said",
        counts.active_runs, counts.open_deliveries, counts.unsaid
    ))
}
