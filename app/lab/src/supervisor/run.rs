//! Carrying out an order.

use std::fs;
use std::io::{BufWriter, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rustix::process::{Pid, WaitStatus, getpid, set_child_subreaper, setsid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGTERM};
use signal_hook::iterator::Signals;

use super::capture::{Kept, listen};
use super::descendants::{ended, kill_all, reap};
use super::machine::Reading;
use super::{Exit, Order, Report, Work, Yes};
use crate::plain;

/// How soon the descendants are killed anew while some are left, and for how long that is tried.
const AGAIN: Duration = Duration::from_millis(10);
const TRIED: Duration = Duration::from_secs(30);
/// How much later than the step's own process the others may end; a process that takes longer is left behind.
const TOGETHER: Duration = Duration::from_secs(1);
/// How long the rest of the output is waited for when no process is left. It only lasts when a process elsewhere was
/// given the other end.
const REST: Duration = Duration::from_secs(2);

/// What a supervisor waits for.
pub(super) enum Event {
    /// A child was reaped.
    Reaped(i32, WaitStatus),
    /// There are no children any more.
    NoneLeft,
    /// The other end of standard input was closed, or a signal asks to end.
    Stop,
}

/// How the wait for the step's own process ended.
enum Waited {
    Ended(Result<i32, i32>),
    Limit,
    Stop,
}

/// Runs the step and measures it.
pub(super) fn run(order: &Order, stdin: impl Read + Send + 'static) -> Report {
    match prepare() {
        Ok(signals) => start(order, stdin, signals),
        Err(problem) => Report::failed(problem),
    }
}

fn prepare() -> Result<Signals, String> {
    let failed = |what: &str, why: &dyn std::fmt::Display| format!("the supervisor cannot {what}: {why}");
    // No terminal: what is typed there reaches neither this process nor the step, which cannot ask for anything there
    // either. Only the leader of a group of processes is refused this.
    let _ = setsid();
    set_child_subreaper(Some(getpid())).map_err(|why| failed("take orphans as its children", &why))?;
    // A handler for SIGCHLD too: where that signal is ignored, as some parents leave it, the kernel forgets what
    // children used. A handled signal is at its default again in the step.
    Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCHLD]).map_err(|why| failed("listen for signals", &why))
}

fn start(order: &Order, mut stdin: impl Read + Send + 'static, mut signals: Signals) -> Report {
    let (events, happened) = sync_channel(64);
    let told = events.clone();
    thread::spawn(move || {
        drop(std::io::copy(&mut stdin, &mut std::io::sink()));
        drop(told.send(Event::Stop));
    });
    let told = events.clone();
    thread::spawn(move || {
        if signals.forever().any(|signal| signal != SIGCHLD) {
            drop(told.send(Event::Stop));
        }
    });

    let before = Reading::now();
    // Measuring the time is what this process is for; it decides nothing by it but the limit.
    #[allow(clippy::disallowed_methods)]
    let began = Instant::now();
    let mut child = match command(order).spawn() {
        Ok(child) => child,
        Err(why) => {
            let exit = Some(Exit::NotStarted(why.to_string()));
            let report = Report { exit, problem: None, ..Report::failed(String::new()) };
            let made = plain::create(&order.stdout).and_then(|_| plain::create(&order.stderr));
            return Report { problem: made.err().map(|why| why.to_string()), ..report };
        }
    };
    let pid = Pid::from_child(&child).as_raw_pid();
    // The kernel's choice when memory runs out: the step, not what measures it. It may be too late for a step that is
    // over already.
    drop(fs::write(format!("/proc/{pid}/oom_score_adj"), "500"));
    let (out, err) = (keep(order), keep(order));
    let (hearing, heard) = sync_channel::<()>(0);
    if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
        hear(stdout, &out, hearing.clone());
        hear(stderr, &err, hearing);
    }
    thread::spawn(move || reap(&events));

    let waited = await_step(&happened, pid, Duration::from_millis(order.limit_ms), began);
    let alone = matches!(waited, Waited::Ended(_)) && end_together(&happened, began);
    let elapsed = began.elapsed();
    let (left_behind, unkillable) = if alone { (0, None) } else { clear(&happened, began) };
    // Nothing is ever sent: the channel ends when both readers have.
    let _ = heard.recv_timeout(REST);
    let after = Reading::now();

    let killed = before.killed_until(&after);
    let exit = match waited {
        Waited::Limit => Exit::Limit(Yes),
        Waited::Stop => Exit::Stopped(Yes),
        // A shell reports the signal of its child as 128 plus its number.
        Waited::Ended(Err(SIGKILL) | Ok(137)) if killed => Exit::Oom(Yes),
        Waited::Ended(Err(signal)) => Exit::Signal(signal),
        Waited::Ended(Ok(code)) => Exit::Code(code),
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok();
    let micros = |usage: &nix::sys::resource::Usage| {
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
    };
    let (out, err) = (settled(&out), settled(&err));
    let (end, whole) = out.end();
    let problem = save(&out, &order.stdout).and_then(|()| save(&err, &order.stderr)).err().or(unkillable);
    Report {
        exit: Some(exit),
        cpu_seconds: usage.as_ref().map(|usage| micros(usage) as f64 / 1e6),
        elapsed_seconds: elapsed.as_secs_f64(),
        peak_bytes: usage.and_then(|usage| u64::try_from(usage.max_rss()).ok()).map(|kib| kib * 1024),
        stdout_bytes: out.total(),
        stderr_bytes: err.total(),
        truncated: out.dropped() > 0 || err.dropped() > 0,
        work: Work::of(&end, whole),
        left_behind,
        machine: before.until(&after),
        problem,
    }
}

fn command(order: &Order) -> Command {
    let program = order.argv.first().map(String::as_str).unwrap_or_default();
    // A program with a path of its own is looked up in the checkout, whatever the system takes for the current folder.
    let path = if program.contains('/') { order.dir.join(program) } else { program.into() };
    let mut command = Command::new(path);
    command
        .args(order.argv.iter().skip(1))
        .env_clear()
        .envs(order.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.dir)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn keep(order: &Order) -> Arc<Mutex<Kept>> {
    Arc::new(Mutex::new(Kept::new(order.keep_bytes)))
}

fn hear(from: impl Read + Send + 'static, kept: &Arc<Mutex<Kept>>, hearing: SyncSender<()>) {
    let kept = Arc::clone(kept);
    thread::spawn(move || {
        listen(from, &kept);
        drop(hearing);
    });
}

fn await_step(happened: &Receiver<Event>, pid: i32, limit: Duration, began: Instant) -> Waited {
    loop {
        match happened.recv_timeout(limit.saturating_sub(began.elapsed())) {
            Ok(Event::Reaped(reaped, status)) if reaped == pid => return Waited::Ended(ended(status)),
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Waited::Stop,
            Ok(Event::Reaped(..) | Event::NoneLeft) => {}
            Err(RecvTimeoutError::Timeout) => return Waited::Limit,
        }
    }
}

/// Waits a moment for processes that end because the step did, such as helpers of a runtime that see a pipe close.
/// Returns whether none is left.
fn end_together(happened: &Receiver<Event>, began: Instant) -> bool {
    let end = began.elapsed() + TOGETHER;
    loop {
        match happened.recv_timeout(end.saturating_sub(began.elapsed())) {
            Ok(Event::NoneLeft) => return true,
            Ok(Event::Reaped(..)) => {}
            Ok(Event::Stop) | Err(_) => return false,
        }
    }
}

/// Kills until no process is left. Returns how many lived when it began, and what could not be done.
fn clear(happened: &Receiver<Event>, began: Instant) -> (usize, Option<String>) {
    let own = getpid().as_raw_pid();
    let lived = kill_all(own);
    let mut alive = lived;
    let patience = began.elapsed() + TRIED;
    while began.elapsed() < patience {
        let mut event = happened.recv_timeout(AGAIN).ok();
        while let Some(happened_now) = event {
            if matches!(happened_now, Event::NoneLeft) {
                return (lived, None);
            }
            event = happened.try_recv().ok();
        }
        alive = kill_all(own);
    }
    (lived, Some(format!("{alive} processes of the step cannot be killed")))
}

fn settled(kept: &Arc<Mutex<Kept>>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn save(kept: &Kept, path: &Path) -> Result<(), String> {
    let written = plain::create(path).and_then(|file| kept.write(&mut BufWriter::new(file)));
    written.map_err(|why| format!("what the step printed cannot be kept: {why}"))
}
