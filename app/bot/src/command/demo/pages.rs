//! The demo with a small GitHub, the service beside it, and the page of a pull request.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use domain::ports::Clock as _;
use domain::time::utc;
use sandbox::demo::{self, Bench, Lesson, REPOSITORY};
use sandbox::{Options, Sandbox};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::follow::{Follower, News};
use super::{Args, browser, timing};
use crate::cli::World;
use crate::command::sandbox::configuration;
use crate::command::serve::log;
use crate::config::{Config, LogLevel, LogSection, USUAL};
use crate::failure::{Exit, Failure};
use crate::service::{Parts, Shared, serve};

/// Who writes the command.
const BY: &str = "maintainer";
/// How long changes of a run are collected before they are said: somebody is watching, milliseconds.
const SAY_AFTER: u64 = 200;
/// How long what was cut off is waited for at the end.
const LAST: Duration = Duration::from_secs(5);

/// Shows it, and leaves nothing behind.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let place = tempfile::Builder::new()
        .prefix("zephyr-ab-demo-")
        .tempdir_in(&world.machine.temp)
        .with_context(|| format!("no temporary folder in {}", world.machine.temp.display()))?;
    let bench = timing::bench(place.path(), &world.machine)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("no runtime can be started")?;
    let shown = runtime.block_on(show(args, &bench, place.path(), world));
    runtime.shutdown_timeout(LAST);
    place.close().context("the folder of the demo cannot be removed")?;
    shown
}

async fn show(args: &Args, bench: &Bench, place: &Path, world: &mut World<'_>) -> Result<Exit, Failure> {
    let mut ends = Ends::listen()?;
    let clock = world.machine.clock;
    let mut options = Options::new(Arc::new(move || clock.now().0));
    options.port = args.port;
    options.path = Some(world.machine.path.clone());
    options.seed = u64::from(world.machine.random);
    let sandbox = Sandbox::start(options).await.with_context(|| format!("no page on port {}", args.port))?;
    let pulls = pulls(&sandbox, bench).context("the demo's repository cannot be made")?;
    let number =
        pulls.iter().find(|(lesson, _)| *lesson == Some(args.branch.lesson())).map_or(1, |(_, number)| *number);
    let shutdown = CancellationToken::new();
    let mut served = beside(&sandbox, place, shutdown.clone(), world).await?;

    let page = format!("{}/{REPOSITORY}/pull/{number}", sandbox.settings().web);
    writeln!(world.stdout, "{page}")?;
    world.stdout.flush()?;
    if !args.no_open && world.terminal && world.machine.display {
        browser::show(&page);
    }
    let command = args.rounds.map_or("/ab-test demo".to_owned(), |rounds| format!("/ab-test demo rounds={rounds}"));
    writeln!(world.stderr, "{} #{number} {BY} writes: {command}", now(world))?;
    sandbox.comment(REPOSITORY, number, BY, &command).context("the command cannot be written")?;

    let numbers: Vec<u64> = pulls.iter().map(|(_, number)| *number).collect();
    let (mut follower, mut decided) = (Follower::default(), None);
    let ended = loop {
        tokio::select! {
            news = follower.next(&sandbox, &numbers) => {
                for News { number: of, heading, decided: word } in news {
                    writeln!(world.stderr, "{} #{of} {heading}", now(world))?;
                    if of == number && decided.is_none() && word.is_some() {
                        decided = word;
                        writeln!(world.stdout, "{heading}")?;
                        world.stdout.flush()?;
                        if !args.once {
                            told(&page, world)?;
                        }
                    }
                }
                if args.once && let Some(decided) = decided {
                    break Ok(if decided { Exit::Done } else { Exit::Failed });
                }
            }
            ended = &mut served => {
                let why = ended.context("the service panicked")?;
                return Err(why.err().unwrap_or_else(|| anyhow::anyhow!("the service has ended").into()));
            }
            () = ends.next() => break Ok(if args.once { Exit::Failed } else { Exit::Done }),
        }
    };
    shutdown.cancel();
    served.await.context("the service panicked")??;
    ended
}

/// What a person can do now.
fn told(page: &str, world: &mut World<'_>) -> Result<(), Failure> {
    Ok(writeln!(
        world.stderr,
        "\nThe page stays until Ctrl-C: {page}\nWrite comments there as maintainer, bob or visitor, push a change, or \
         look at the other pull requests.\n"
    )?)
}

/// `20:28:50 UTC`.
fn now(world: &World<'_>) -> String {
    let at = utc(world.machine.clock.now());
    at.split_once(' ').map_or(at.clone(), |(_, time)| time.to_owned())
}

/// Makes the repository. Pull requests by what they show; the one from a fork shows none of the lessons.
fn pulls(sandbox: &Sandbox, bench: &Bench) -> Result<Vec<(Option<Lesson>, u64)>, sandbox::Error> {
    let made = demo::make(sandbox, bench)?;
    let mut pulls = vec![(Some(Lesson::Slower), made.slower), (None, made.fork)];
    for lesson in Lesson::ALL.into_iter().filter(|lesson| *lesson != Lesson::Slower) {
        pulls.push((Some(lesson), demo::add(sandbox, bench, lesson)?));
    }
    Ok(pulls)
}

/// Starts the service for a sandbox.
async fn beside(
    sandbox: &Sandbox,
    place: &Path,
    shutdown: CancellationToken,
    world: &World<'_>,
) -> Result<JoinHandle<Result<(), Failure>>, Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for the service")?;
    let webhook = format!("http://{}/webhook", listener.local_addr().context("no port for the service")?);
    sandbox.set_webhook(&webhook);
    let mut settings = sandbox.settings();
    settings.write_to(place).with_context(|| place.display().to_string())?;
    let file = place.join(USUAL);
    let text = configuration(&settings, &webhook, world.machine.clock.now().seconds());
    std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    let config = Config::load(Some(&file))?.service()?;
    let secrets = config.secrets(&world.machine.secrets)?;
    log(LogSection { level: LogLevel::Warn, ..config.log }, world.terminal);
    let shared = Shared::new(config, Some(file), world.machine.clone())?;
    Ok(tokio::spawn(serve(Parts { shared, secrets, listener, say_after_ms: SAY_AFTER }, shutdown)))
}

/// What ends the demo.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
}

impl Ends {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).context("cannot listen for Ctrl-C");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
