//! `zephyr-ab sandbox`: a small GitHub on this machine, to try a service with.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use domain::ports::Clock as _;
use sandbox::demo::{self, Bench};
use sandbox::{Options, Sandbox, Settings};
use tokio::signal::unix::{SignalKind, signal};

use super::run::runtime;
use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Runs a small GitHub on this machine, to try a service with.
///
/// It listens on 127.0.0.1 only and forgets everything when it ends. The repository octo/demo fits the suite demo: pull
/// request 1 makes a step slower, and pull request 2 comes from a fork. `maintainer` may write there, `bob` may read and
/// `visitor` may do nothing. Pages for a browser show what happened, and comments can be written there; curl does the rest.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab sandbox
  zephyr-ab sandbox --port 4000 --webhook http://127.0.0.1:8080/webhook
  zephyr-ab sandbox --prefix /api/v3 --no-demo")]
pub struct Args {
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 4000)]
    port: u16,
    /// What stands before every path of the API, as at a GitHub Enterprise Server [default: nothing].
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true, value_parser = prefix)]
    prefix: String,
    /// Where deliveries are sent.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080/webhook")]
    webhook: String,
    /// Where the app's private key and the webhook's secret are written [default: a folder for temporary files].
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Do not make octo/demo.
    #[arg(long)]
    no_demo: bool,
    /// How often a step of the demo turns its loop; a step should work for half a second.
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    loops: u64,
    /// What ids and tokens come from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn prefix(text: &str) -> Result<String, String> {
    let fine = text.is_empty() || (text.starts_with('/') && !text.contains(['?', '#', ' ']));
    if fine { Ok(text.trim_end_matches('/').to_owned()) } else { Err("expected a path such as /api/v3".to_owned()) }
}

/// Runs the command until it is interrupted.
///
/// # Errors
/// [`Failure::Other`] where the port is taken or a file cannot be written.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(serve(args, world))
}

async fn serve(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let cannot = || "cannot listen for Ctrl-C";
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt()).with_context(cannot)?, signal(SignalKind::terminate()).with_context(cannot)?);
    let clock = world.machine.clock;
    let mut options = Options::new(Arc::new(move || clock.now().0));
    options.port = args.port;
    options.prefix.clone_from(&args.prefix);
    options.webhook = Some(args.webhook.clone());
    options.seed = args.seed;
    options.path = Some(world.machine.path.clone());
    let sandbox = Sandbox::start(options).await.with_context(|| format!("no sandbox on port {}", args.port))?;
    if !args.no_demo {
        demo::make(&sandbox, &Bench { loops: args.loops, wait: "0.5" })
            .context("the demo's repository cannot be made")?;
    }
    let mut settings = sandbox.settings();
    let folder = args.keys.clone().unwrap_or_else(|| {
        let port = settings.web.rsplit(':').next().unwrap_or_default();
        world.machine.temp.join(format!("zephyr-ab-sandbox-{port}"))
    });
    settings.write_to(&folder).with_context(|| folder.display().to_string())?;
    let config = folder.join(crate::config::USUAL);
    // Numbers begin anew with every sandbox: what an earlier one was told must not be remembered.
    let text = configuration(&settings, &args.webhook, clock.now().seconds());
    std::fs::write(&config, text).with_context(|| config.display().to_string())?;
    write!(world.stdout, "{}", told(&settings, &config, args))?;
    world.stdout.flush()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(Exit::Done)
}

/// The configuration of a service for this sandbox.
pub(super) fn configuration(settings: &Settings, webhook: &str, seconds: u64) -> String {
    let address = webhook.split_once("://").map_or(webhook, |(_, rest)| rest);
    let listen = address.split('/').next().unwrap_or_default();
    format!(
        "# For `zephyr-ab serve` beside the sandbox that wrote this.\n[server]\nlisten = \"{listen}\"\n\n[github]\n\
         app_id = {}\nprivate_key_file = \"app.pem\"\nwebhook_secret_file = \"webhook-secret\"\napi_url = \"{}\"\n\
         web_url = \"{}\"\nwrite_pause_ms = 0\n\n[store]\nurl = \"sqlite:data-{seconds}/zephyr-ab.db\"\n\n[service]\n\
         data_dir = \"data-{seconds}\"\nsuites = [\"demo\"]\nlocal_backend = true\n",
        settings.app_id, settings.api, settings.web
    )
}

/// What a service needs to connect, and what to try next.
fn told(settings: &Settings, config: &std::path::Path, args: &Args) -> String {
    let mut text = settings.to_string();
    // Writing to a text does not fail.
    let _ = writeln!(text, "\nServe it in another terminal:\n  zephyr-ab serve --config {}", config.display());
    if !args.no_demo {
        let body =
            format!(r#"{{"repo": "{}", "number": 1, "by": "maintainer", "body": "/ab-test demo"}}"#, demo::REPOSITORY);
        let page = format!("{}/{}/pull/1", settings.web, demo::REPOSITORY);
        let _ = writeln!(
            text,
            "\nComment as maintainer:\n  curl -H 'content-type: application/json' {}/comment \\\n    -d '{body}'\nSee {page}",
            settings.control
        );
    }
    text + "Everything is forgotten on Ctrl-C.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        for (text, expected) in [("", Some("")), ("/api/v3/", Some("/api/v3")), ("api", None), ("/a b", None)] {
            assert_eq!(prefix(text).ok().as_deref(), expected, "{text}");
        }
    }
}
