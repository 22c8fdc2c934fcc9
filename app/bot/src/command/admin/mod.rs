//! `zephyr-ab admin`: what an operator sees of the store of a service and does to it, while the service may be running.
//!
//! [`open`] finds the store, `which` what is meant, `show` prints it, `act` moves it, `again` lets a delivery be handled
//! anew. Nothing goes round the versions and fences by which the service itself writes, and each act is in the audit log.

mod act;
mod again;
mod open;
mod show;
#[cfg(test)]
mod tests;
mod which;

use std::path::PathBuf;

use domain::ids::JobId;

use self::open::Opened;
use self::which::{Named, What};
use super::run::runtime;
use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Looks into the store of a service, and frees what is stuck. The service may be running meanwhile.
///
/// Every act is written into the audit log as done by `admin`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab admin run show octo/demo#12 --config /etc/zephyr-ab/zephyr-ab.toml
  zephyr-ab admin run unstick 20261129T202850Z-8d10c1b5
  zephyr-ab admin run adopt-job 20261129T202850Z-8d10c1b5 r1.0-2 /maria/zab-by-hand
  zephyr-ab admin delivery again 0b989ba4-242f-11e5-81e1-c7b6966d2516")]
pub struct Args {
    #[command(subcommand)]
    about: About,
    /// The configuration [default: zephyr-ab.toml, where there is one].
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum About {
    /// A run, or what happens on a pull request.
    Run {
        #[command(subcommand)]
        act: OfRun,
    },
    /// A delivery of the forge.
    Delivery {
        #[command(subcommand)]
        act: OfDelivery,
    },
}

#[derive(Debug, clap::Subcommand)]
enum OfRun {
    /// Shows how far it is: trials and jobs, what is to be done and to be said, who works on it, and the last lines of the
    /// audit log. Changes nothing.
    Show {
        /// A run, or a pull request as owner/name#12 or pull:<repository id>:12.
        #[arg(value_name = "RUN|PULL")]
        of: Named,
        /// So many lines of the audit log.
        #[arg(long, value_name = "N", default_value_t = 10)]
        lines: usize,
    },
    /// Makes everything due now that was put off: of the run, of its pull request, and what is to be said. Frees leases that
    /// have ended.
    Unstick {
        /// A run, or a pull request as owner/name#12 or pull:<repository id>:12.
        #[arg(value_name = "RUN|PULL")]
        of: Named,
        /// Frees leases that still run as well. Whoever holds them can then no longer write what it is doing.
        #[arg(long)]
        force: bool,
    },
    /// Says which job a trial is, where the service does not know: its launch was not answered, or the cluster has forgotten
    /// the job that was launched.
    AdoptJob {
        /// The run.
        run: Named,
        /// The trial: its whole name, or from its round on, as r1.0-2.
        trial: String,
        /// The job.
        #[arg(value_parser = |text: &str| text.parse::<JobId>().map_err(|why| why.to_string()))]
        job: JobId,
    },
}

#[derive(Debug, clap::Subcommand)]
enum OfDelivery {
    /// Has a delivery handled anew. What was sent is fetched from the forge's log where the store no longer has it.
    Again {
        /// The id of a delivery, or its number in the forge's log.
        #[arg(value_name = "GUID|ID")]
        delivery: String,
    },
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] for what is not there or may not be done, with the reason; anything else where the store fails.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let opened = Opened::new(args.config.as_deref(), world).await?;
        let done = act(args, &opened).await;
        opened.store.close().await;
        let text = done?;
        world.stdout.write_all(opened.safe(&text).as_bytes())?;
        Ok(Exit::Done)
    })
}

async fn act(args: &Args, opened: &Opened) -> Result<String, Failure> {
    match &args.about {
        About::Run { act } => match act {
            OfRun::Show { of, lines } => show::show(opened, &of.find(&opened.store).await?, *lines).await,
            OfRun::Unstick { of, force } => act::unstick(opened, &of.find(&opened.store).await?, *force).await,
            OfRun::AdoptJob { run, trial, job } => match run.find(&opened.store).await? {
                What { run: Some(row), .. } => act::adopt(opened, &row, trial, job).await,
                What { run: None, .. } => Err(Failure::Usage("no run was made of this pull request".to_owned())),
            },
        },
        About::Delivery { act: OfDelivery::Again { delivery } } => again::again(opened, delivery).await,
    }
}
