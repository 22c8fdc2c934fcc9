//! `zephyr-ab serve`: the GitHub App.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use engine::service::ServiceSettings;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::cli::World;
use crate::config::{Config, LogFormat, LogSection};
use crate::failure::{Exit, Failure};
use crate::service::{Parts, Shared, serve};

/// How long what was cut off is waited for when the service ends.
const LAST: Duration = Duration::from_secs(5);

/// Serves pull requests: takes deliveries of the app, runs what is asked for, and keeps one verdict comment true.
///
/// Everything is written down before it is done. After a crash or a restart the service goes on where it was; jobs of a
/// cluster go on meanwhile, and trials on this machine are measured anew.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab config check --config /etc/zephyr-ab/zephyr-ab.toml
  zephyr-ab serve --config /etc/zephyr-ab/zephyr-ab.toml")]
pub struct Args {
    /// The configuration [default: zephyr-ab.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] where the configuration makes no sense, anything else where the service cannot go on.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let config = Config::load(args.config.as_deref())?;
    let service = config.service()?;
    let secrets = service.secrets(&world.machine.secrets)?;
    log(service.log, world.terminal);
    for warning in &secrets.warnings {
        tracing::warn!("{warning}");
    }
    let listen = service.listen;
    let shared = Shared::new(service, config.file.clone(), world.machine.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("no runtime can be started")?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.with_context(|| format!("server.listen: {listen}"))?;
        let shutdown = CancellationToken::new();
        tokio::spawn(interrupted(shutdown.clone()));
        let say_after_ms = ServiceSettings::default().say_after_ms;
        serve(Parts { shared, secrets, listener, say_after_ms }, shutdown).await
    });
    // A fetch that is cut off ends by itself; nobody waits for it.
    runtime.shutdown_timeout(LAST);
    served.map(|()| Exit::Done)
}

/// Writes down what happens.
pub(super) fn log(section: LogSection, terminal: bool) {
    let filter = EnvFilter::new(format!("{0},hyper=warn,sqlx=warn,octocrab=warn,tower=warn", section.level.level()));
    let made = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(terminal);
    let set = match section.format {
        LogFormat::Text => made.try_init(),
        LogFormat::Json => made.json().try_init(),
    };
    // A test may have set one up before.
    drop(set);
}

async fn interrupted(shutdown: CancellationToken) {
    let listen = |kind| signal(kind).ok();
    let (Some(mut interrupt), Some(mut terminate)) = (listen(SignalKind::interrupt()), listen(SignalKind::terminate()))
    else {
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping");
    shutdown.cancel();
}
