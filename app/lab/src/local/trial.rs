//! One trial from its checkout to its answers.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::arms::Role;
use domain::ids::{CommitSha, JobId};
use domain::ports::{Cause, End};
use domain::rounds::TrialName;
use serde_json::{Value, json};

use super::contact::{Contact, Lifeline};
use super::launch::file_name;
use super::{Launch, Settings, host};
use crate::assemble::{LOAD, Load, STEPS, StepLoad, StepRecord, in_words};
use crate::git::checkout::remove;
use crate::git::{CheckedOut, GitError, TreePath};
use crate::plain;
use crate::supervisor::{Exit, Order, Report};
use domain::stats::Reading;

/// What the answers say of the job.
const JOB: &str = "job.json";

/// One trial to run.
pub(super) struct Task {
    pub(super) settings: Arc<Settings>,
    pub(super) watch: Arc<Watch>,
    pub(super) job: JobId,
    pub(super) trial: TrialName,
    pub(super) role: Role,
    pub(super) commit: CommitSha,
    pub(super) launch: Launch,
    /// Wall limit of all steps, milliseconds.
    pub(super) limit_ms: u64,
    /// A folder of its own, there already.
    pub(super) folder: PathBuf,
}

/// What others see of a trial, and how they stop it.
#[derive(Debug, Default)]
pub(super) struct Watch(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    stopped: bool,
    /// What keeps the supervisors alive.
    pipes: Vec<Lifeline>,
    /// A step of the group that runs has failed: the others end, those too that are only being started.
    failed: bool,
    step: Option<String>,
    done: u32,
    over: Option<(End, Vec<String>)>,
}

impl Watch {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the trial: its supervisors kill what they supervise, and nothing further is started.
    pub(super) fn stop(&self) {
        let mut seen = self.seen();
        seen.stopped = true;
        seen.pipes.clear();
    }

    fn is_stopped(&self) -> bool {
        self.seen().stopped
    }

    /// The step that runs and how many are done.
    pub(super) fn progress(&self) -> (Option<String>, u32) {
        let seen = self.seen();
        (seen.step.clone(), seen.done)
    }

    /// How it ended and the names of its answers.
    pub(super) fn over(&self) -> Option<(End, Vec<String>)> {
        self.seen().over.clone()
    }

    /// Keeps a supervisor alive from now on, unless the trial was stopped meanwhile.
    fn keep(&self, pipe: Lifeline) {
        let mut seen = self.seen();
        if !seen.stopped && !seen.failed {
            seen.pipes.push(pipe);
        }
    }

    fn begin(&self, step: Option<String>) {
        let mut seen = self.seen();
        seen.failed = false;
        seen.step = step;
        seen.pipes.clear();
    }

    fn fail(&self) {
        let mut seen = self.seen();
        seen.failed = true;
        seen.pipes.clear();
    }
}

/// One step that ran.
struct Ran {
    index: usize,
    report: Report,
}

impl Task {
    /// Runs the trial and leaves its answers in `<folder>/answers`.
    pub(super) fn run(&self) {
        let mut checked_out = CheckedOut::default();
        let mut ran = Vec::new();
        let mut place = None;
        let end = self.carry_out(&mut place, &mut checked_out, &mut ran).err().unwrap_or(End::Succeeded);
        for part in ["tree", "home", "tmp"] {
            // Never what a link leads to. What stays is removed with the folder of the backend.
            if plain::is_itself(&self.folder) {
                drop(remove(&self.folder.join(part)));
            }
        }
        let written = place.map(|place| self.write(&end, place, &checked_out, &ran));
        let (end, names) = match written {
            Some(Ok(())) => (end, self.names(&ran)),
            None => (end, Vec::new()),
            // What stands there may be anybody's.
            Some(Err(why)) => (infrastructure(format!("the answers cannot be written: {why}")), Vec::new()),
        };
        let mut seen = self.watch.seen();
        seen.step = None;
        seen.over = Some((end, names));
    }

    fn carry_out(
        &self,
        place: &mut Option<Place>,
        checked_out: &mut CheckedOut,
        ran: &mut Vec<Ran>,
    ) -> Result<(), End> {
        for part in ["answers", "tree", "home", "tmp"] {
            let path = self.folder.join(part);
            fs::create_dir(&path).map_err(|why| infrastructure(format!("{}: {why}", path.display())))?;
            *place = place.or_else(|| Place::of(&path));
        }
        let stop = || self.watch.is_stopped();
        let mirror = &self.settings.mirror;
        *checked_out = match mirror.checkout(&self.commit, &self.tree(), &self.settings.checkout, &stop) {
            Ok(made) => made,
            Err(GitError::Stopped) => return Err(stopped()),
            Err(why) => return Err(infrastructure(format!("the checkout of {}: {why}", self.commit.short()))),
        };
        let mut used_ms = 0;
        for group in self.launch.groups() {
            if stop() {
                return Err(stopped());
            }
            if used_ms >= self.limit_ms {
                return Err(End::Failed { cause: Cause::TimeLimit });
            }
            let reports = self.group(group, self.limit_ms - used_ms);
            let longest = reports.iter().filter_map(|(_, report)| Some(report.as_ref().ok()?.elapsed_seconds));
            let used = Duration::try_from_secs_f64(longest.fold(0.0, f64::max)).map_or(u64::MAX, whole_ms);
            used_ms = u64::saturating_add(used_ms, used);
            let mut first: Option<End> = None;
            for (index, report) in reports {
                let end = self.judged(index, report.as_ref());
                ran.extend(report.ok().map(|report| Ran { index, report }));
                // A step that was stopped because of another one is not the reason.
                first = match (first, end) {
                    (None | Some(End::Failed { cause: Cause::Stopped }), Some(end)) => Some(end),
                    (first, _) => first,
                };
            }
            if let Some(end) = first {
                return Err(if stop() { stopped() } else { self.blamed(end, ran) });
            }
        }
        Ok(())
    }

    /// A step that was stopped though nobody stopped the trial: somebody else told its supervisor to.
    fn blamed(&self, end: End, ran: &[Ran]) -> End {
        if end != stopped() {
            return end;
        }
        let step = ran.iter().find(|ran| matches!(ran.report.exit, Some(Exit::Stopped(_))));
        let name = step.and_then(|ran| self.launch.steps.get(ran.index)).map(|step| step.name.as_str());
        infrastructure(format!("step {} was stopped, and not by this trial", name.unwrap_or_default()))
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Runs the steps of a group at the same time. The first that fails ends the others.
    fn group(&self, group: Range<usize>, limit_ms: u64) -> Vec<(usize, Result<Report, String>)> {
        self.watch.begin(self.launch.steps.get(group.start).map(|step| step.name.clone()));
        let reports = std::thread::scope(|scope| {
            let run = |index: usize| {
                scope.spawn(move || {
                    let report = self.supervise(index, limit_ms);
                    if report.as_ref().is_ok_and(|report| report.exit == Some(Exit::Code(0))) {
                        self.watch.seen().done += 1;
                    } else {
                        self.watch.fail();
                    }
                    (index, report)
                })
            };
            let running: Vec<_> = group.map(run).collect();
            running.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let lost = || (usize::MAX, Err("the thread of a step panicked".to_owned()));
        reports.into_iter().map(|report| report.unwrap_or_else(|_| lost())).collect()
    }

    /// Runs one step under a supervisor. `Err` where there is no report.
    fn supervise(&self, index: usize, limit_ms: u64) -> Result<Report, String> {
        let order = self.order(index, limit_ms).ok_or("there is no such step")?;
        let mut line = serde_json::to_vec(&order).map_err(|why| format!("the order cannot be written: {why}"))?;
        line.push(b'\n');
        let program = self.settings.supervisor.first().ok_or("no supervisor is configured")?;
        let mut child = Command::new(program)
            .args(&self.settings.supervisor[1..])
            .env_clear()
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| format!("the supervisor cannot be started: {why}"))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else { return Err("the supervisor has no pipes".into()) };
        // A supervisor that is gone already shows below, where its report is missing.
        drop(stdin.write_all(&line));
        let (contact, lifeline) = Contact::new(child, stdin, stdout);
        self.watch.keep(lifeline);
        contact.report(Duration::from_millis(order.limit_ms), self.folder.to_str())
    }

    fn order(&self, index: usize, limit_ms: u64) -> Option<Order> {
        let step = self.launch.steps.get(index)?;
        let part = |name: &str| Some(self.folder.join(name).to_str()?.to_owned());
        let mut env = vec![
            ("PATH".to_owned(), self.settings.path.clone()),
            ("HOME".to_owned(), part("home")?),
            ("TMPDIR".to_owned(), part("tmp")?),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ];
        env.retain(|(name, _)| !step.env.contains_key(name));
        env.extend(step.env.clone());
        let file = |end: &str| self.folder.join("answers").join(format!("{}.{end}", file_name(index, &step.name)));
        Some(Order {
            argv: step.argv.clone(),
            env,
            dir: self.tree(),
            limit_ms: step.limit_ms.unwrap_or(limit_ms).min(limit_ms),
            keep_bytes: self.settings.keep_bytes,
            stdout: file("stdout"),
            stderr: file("stderr"),
        })
    }

    /// How the trial ends because of this step; `None` where it goes on.
    fn judged(&self, index: usize, report: Result<&Report, &String>) -> Option<End> {
        let name = self.launch.steps.get(index).map(|step| step.name.as_str()).unwrap_or_default();
        let report = match report {
            Ok(report) => report,
            Err(why) => return Some(infrastructure(format!("step {name}: {why}"))),
        };
        let exit = match (&report.exit, &report.problem) {
            (Some(exit), None) => exit,
            (_, problem) => {
                let why = problem.as_deref().unwrap_or("its supervisor did not say how it ended");
                return Some(infrastructure(format!("step {name}: {why}")));
            }
        };
        let text = format!("step {name} {}", in_words(exit));
        let own_program = self.launch.steps.get(index).is_some_and(|step| {
            step.argv.first().is_some_and(|program| program.contains('/') && !program.starts_with('/'))
        });
        let cause = match exit {
            Exit::Code(0) => return None,
            Exit::Stopped(_) => Cause::Stopped,
            Exit::Limit(_) => Cause::TimeLimit,
            Exit::Oom(_) => Cause::Application { oom: true, text },
            // A program of the commit that is not there is the commit's doing; one of the machine is not.
            Exit::NotStarted(_) if own_program => Cause::Application { oom: false, text },
            // Who sent SIGKILL is not known.
            Exit::NotStarted(_) | Exit::Signal(9) | Exit::Code(137) => Cause::Infrastructure(text),
            Exit::Code(_) | Exit::Signal(_) => {
                Cause::Application { oom: false, text: format!("{text}{}", self.last_words(index, name)) }
            }
        };
        Some(End::Failed { cause })
    }

    /// The end of what a failed step printed to standard error, or else to standard output.
    fn last_words(&self, index: usize, name: &str) -> String {
        let read = |end: &str| -> Option<String> {
            let path = self.folder.join("answers").join(format!("{}.{end}", file_name(index, name)));
            let mut file = plain::open(&path).ok()?;
            let length = file.metadata().ok()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(2000))).ok()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8_lossy(&bytes).trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        read("stderr").or_else(|| read("stdout")).map(|text| format!(":\n{text}")).unwrap_or_default()
    }

    fn write(&self, end: &End, place: Place, checked_out: &CheckedOut, ran: &[Ran]) -> std::io::Result<()> {
        let answers = answers(&self.folder);
        if Place::of(&answers) != Some(place) {
            return Err(std::io::Error::other("their folder is not the one that was made for them"));
        }
        let save = |name: &str, value: &Value| {
            let mut text = serde_json::to_vec_pretty(value)?;
            text.push(b'\n');
            plain::create(&answers.join(name))?.write_all(&text)
        };
        let shown = |paths: &[TreePath]| paths.iter().map(|path| path.text().into_owned()).collect::<Vec<_>>();
        let job = json!({
            "job": self.job, "trial": self.trial, "role": self.role, "commit": self.commit, "limit_ms": self.limit_ms,
            "launch": self.launch, "end": end, "limit_reached_by": self.over_limit(ran),
            "checkout": {
                "files": checked_out.files, "bytes": checked_out.bytes, "lfs_pointers": checked_out.lfs_pointers,
                "submodules_left_out": shown(&checked_out.submodules), "links_as_files": shown(&checked_out.plain_links),
            },
        });
        save(JOB, &job)?;
        if ran.is_empty() {
            return Ok(());
        }
        let records: Vec<StepRecord> = ran.iter().filter_map(|ran| self.record(ran)).collect();
        save(STEPS, &serde_json::to_value(records)?)?;
        let steps = ran.iter().filter_map(|ran| {
            let Report { machine, cpu_seconds, .. } = &ran.report;
            let busy = machine.busy_seconds.zip(*cpu_seconds);
            let other_seconds = busy.map(|(busy, own)| (busy - own).max(0.0));
            let step = self.launch.steps.get(ran.index)?.name.clone();
            Some(StepLoad { step, other_seconds, machine: machine.clone() })
        });
        save(LOAD, &serde_json::to_value(Load { host: host::read(), steps: steps.collect() })?)
    }

    /// The steps that were killed at the limit: their own, or what was left of the trial's.
    fn over_limit(&self, ran: &[Ran]) -> Vec<&str> {
        let over = ran.iter().filter(|ran| matches!(ran.report.exit, Some(Exit::Limit(_))));
        over.filter_map(|ran| Some(self.launch.steps.get(ran.index)?.name.as_str())).collect()
    }

    fn record(&self, ran: &Ran) -> Option<StepRecord> {
        let report = &ran.report;
        let reading = |value: Option<f64>| value.map_or(Reading::Missing, Reading::of);
        Some(StepRecord {
            step: self.launch.steps.get(ran.index)?.name.clone(),
            cpu_seconds: reading(report.cpu_seconds),
            elapsed_seconds: reading(Some(report.elapsed_seconds)),
            peak_bytes: reading(report.peak_bytes.map(|bytes| bytes as f64)),
            exit: report.exit.clone()?,
            items: report.work.items.clone(),
            bytes: report.work.bytes.clone(),
            shards: report.work.shards.clone(),
            output_digest: report.work.output_digest.clone(),
            stdout_bytes: report.stdout_bytes,
            stderr_bytes: report.stderr_bytes,
            truncated: report.truncated,
            left_behind: report.left_behind,
        })
    }

    fn names(&self, ran: &[Ran]) -> Vec<String> {
        let mut names = vec![JOB.to_owned()];
        if !ran.is_empty() {
            names.extend([STEPS.to_owned(), LOAD.to_owned()]);
        }
        // What stands in the place of an output that could not be kept is not the step's output.
        for ran in ran.iter().filter(|ran| ran.report.problem.is_none()) {
            let Some(step) = self.launch.steps.get(ran.index) else { continue };
            let file = file_name(ran.index, &step.name);
            names.extend(["stdout", "stderr"].map(|end| format!("{file}.{end}")));
        }
        names
    }
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).saturating_add(1)
}

/// The identity of a folder: what is put in its place is another one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    device: u64,
    inode: u64,
}

impl Place {
    fn of(folder: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(folder).ok().filter(fs::Metadata::is_dir)?;
        Some(Self { device: found.dev(), inode: found.ino() })
    }
}

/// The folder of a trial's answers.
pub(super) fn answers(folder: &Path) -> PathBuf {
    folder.join("answers")
}

fn infrastructure(why: String) -> End {
    End::Failed { cause: Cause::Infrastructure(why) }
}

fn stopped() -> End {
    End::Failed { cause: Cause::Stopped }
}
