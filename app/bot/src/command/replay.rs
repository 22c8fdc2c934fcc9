//! `zephyr-ab replay`: sends a delivery to a service that runs, signed as the forge would sign it.

mod payload;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use domain::ports::forge::SentDelivery;
use domain::ports::{Clock as _, Forge};
use domain::time::{DAY, Ms};

use crate::cli::World;
use crate::command::run::runtime;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::server::{LARGEST_DELIVERY, Signer, is_event, is_guid};
use crate::service::run::forge;
use crate::world::Machine;
use payload::Payload;

/// Largest file that is read: a little more than a service takes, so that refusing can be seen.
const LARGEST: u64 = LARGEST_DELIVERY as u64 + (1 << 20);
/// An answer is waited for this long.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the forge keeps its log, milliseconds.
const LOGGED_FOR: u64 = 3 * DAY;
/// As much of an answer is shown, characters.
const SHOWN: usize = 2000;

/// Sends a delivery to a service that runs, signed with the secret of its webhook.
///
/// FILE is the payload as JSON, or an object of the log of deliveries. Where there is no such file, a number or an id of the
/// log of deliveries of the app, which is fetched. Exit code 1 where the answer is not 2xx.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab replay issue_comment.json --config /etc/zephyr-ab/zephyr-ab.toml
  zephyr-ab replay payload.json --event pull_request --to http://127.0.0.1:8080/webhook
  zephyr-ab replay 0b989ba4-242f-11e5-81e1-c7b6966d2516
  gh api /app/hook/deliveries/12345 | zephyr-ab replay -")]
pub struct Args {
    /// The payload; - is standard input.
    #[arg(value_name = "FILE|DELIVERY")]
    file: PathBuf,
    /// Where to [default: /webhook at the address that the configuration has]
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// The event [default: what the object says, or what the name of the file begins with]
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// The id [default: that of the object, or a new one]
    #[arg(long, value_name = "ID")]
    guid: Option<String>,
    /// The configuration [default: zephyr-ab.toml, where there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The event.
    pub event: String,
    /// The id.
    pub guid: String,
    /// The payload.
    pub payload: Vec<u8>,
}

/// A service, and how deliveries for it are signed.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address of its webhook.
    pub to: String,
    /// The number of its app.
    pub app_id: u64,
    /// With the secret of the webhook.
    pub signer: Signer,
}

/// Runs the command.
///
/// # Errors
/// What is to be sent makes no sense, the configuration is none of a service, or nobody answers.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let target = target(args, world)?;
    let named = args.file.to_string_lossy();
    if named != "-" && !args.file.exists() && is_guid(&named) {
        let sending = logged(args, &named, world)?;
        let (status, answer) = runtime()?.block_on(send(&target, &sending))?;
        writeln!(world.stdout, "{status} {answer}")?;
        return Ok(if (200..300).contains(&status) { Exit::Done } else { Exit::Failed });
    }
    let bytes = read(&args.file, world)?;
    let read = Payload::of(bytes).map_err(|why| Failure::Usage(format!("{}: {why}", args.file.display())))?;
    let sending = sending(args, read, &world.machine)?;
    let (status, answer) = runtime()?.block_on(send(&target, &sending))?;
    writeln!(world.stdout, "{status} {answer}")?;
    Ok(if (200..300).contains(&status) { Exit::Done } else { Exit::Failed })
}

/// A delivery of the app's log.
fn logged(args: &Args, delivery: &str, world: &World<'_>) -> Result<Sending, Failure> {
    let service = Config::load(args.config.as_deref())?.service()?;
    let secrets = service.secrets(&world.machine.secrets)?;
    let clock = world.machine.clock;
    let since = Ms(clock.now().0.saturating_sub(LOGGED_FOR));
    runtime()?.block_on(async {
        let forge = forge(&service, &secrets)?;
        let sent = fetch(&forge, delivery, since).await?;
        let guid = args.guid.clone().unwrap_or_else(|| sent.guid.clone());
        Ok(Sending { guid, ..Sending::from(sent) })
    })
}

fn target(args: &Args, world: &World<'_>) -> Result<Target, Failure> {
    let service = Config::load(args.config.as_deref())?.service()?;
    let secrets = service.webhook_secrets(&world.machine.secrets)?;
    // The first is the one in force.
    let secret = secrets.first().ok_or_else(|| Failure::Usage("there is no secret of the webhook".to_owned()))?;
    let to = args.to.clone().unwrap_or_else(|| format!("http://{}/webhook", service.listen));
    Ok(Target { to, app_id: service.github.app_id, signer: Signer::new(secret) })
}

fn read(path: &Path, world: &mut World<'_>) -> Result<Vec<u8>, Failure> {
    let place = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        world.stdin.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|why| place(&why))?;
    } else {
        let file = std::fs::File::open(path).map_err(|why| place(&why))?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|why| place(&why))?;
    }
    if bytes.len() as u64 > LARGEST {
        return Err(place(&format!("larger than {LARGEST} bytes")));
    }
    Ok(bytes)
}

fn sending(args: &Args, read: Payload, machine: &Machine) -> Result<Sending, Failure> {
    let event = args.event.clone().or(read.event).or_else(|| payload::event_of(&args.file)).ok_or_else(|| {
        Failure::Usage(format!("{}: which event it is of says --event, or the name of the file", args.file.display()))
    })?;
    if !is_event(&event) {
        return Err(Failure::Usage("--event: 1 to 64 of a-z and _, as issue_comment".to_owned()));
    }
    let guid = args.guid.clone().or(read.guid).unwrap_or_else(|| fresh(machine));
    if !is_guid(&guid) {
        return Err(Failure::Usage("--guid: 1 to 64 of A-Z, a-z, 0-9 and -".to_owned()));
    }
    Ok(Sending { event, guid, payload: read.bytes })
}

/// An id that was not there before.
fn fresh(machine: &Machine) -> String {
    format!("{:08x}-0000-4000-8000-{:012x}", machine.random, machine.clock.now().0 & 0xffff_ffff_ffff)
}

/// Sends it and returns the status and the beginning of the answer, on one line.
///
/// # Errors
/// An address that is none, or nobody answers.
pub async fn send(target: &Target, sending: &Sending) -> Result<(u16, String), Failure> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Lost races are fine: then another one is installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let url = reqwest::Url::parse(&target.to).map_err(|why| Failure::Usage(format!("--to: {why}")))?;
    let mut client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(PATIENCE);
    if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
        client = client.no_proxy();
    }
    let client = client.build().context("no client can be made")?;
    let answer = client
        .post(url)
        .header("content-type", "application/json")
        .header("user-agent", concat!("zephyr-ab-replay/", env!("CARGO_PKG_VERSION")))
        .header("x-github-event", &sending.event)
        .header("x-github-delivery", &sending.guid)
        .header("x-github-hook-installation-target-type", "integration")
        .header("x-github-hook-installation-target-id", target.app_id)
        .header("x-hub-signature-256", target.signer.sign(&sending.payload))
        .body(sending.payload.clone())
        .send()
        .await
        .with_context(|| format!("{} does not answer", target.to))?;
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok((status, line.chars().filter(|c| !c.is_control()).take(SHOWN).collect()))
}

/// A delivery of the log of the forge by its number there or by its id; of several attempts the newest.
///
/// # Errors
/// See [`domain::ports::forge::ForgeError`]; the log back to `since` has no such delivery.
pub async fn fetch(forge: &impl Forge, delivery: &str, since: Ms) -> Result<SentDelivery, Failure> {
    let failed =
        |why: domain::ports::forge::ForgeError| Failure::Other(anyhow::Error::new(why).context(delivery.to_owned()));
    let id = if let Ok(id) = delivery.parse() {
        id
    } else {
        let logged = forge.deliveries(since).await.map_err(failed)?;
        let newest = logged.iter().filter(|logged| logged.guid == delivery).max_by_key(|logged| (logged.at, logged.id));
        newest.ok_or_else(|| Failure::Usage(format!("{delivery:?} is not in the log of deliveries")))?.id
    };
    forge.delivery(id).await.map_err(failed)
}

impl From<SentDelivery> for Sending {
    fn from(sent: SentDelivery) -> Self {
        Self { event: sent.event, guid: sent.guid, payload: sent.payload.into_bytes() }
    }
}

#[cfg(test)]
mod tests;
