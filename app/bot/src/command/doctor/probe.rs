//! A real job, followed link by link, and ended in any case.

use std::sync::Arc;
use std::time::Duration;

use domain::arms::Role;
use domain::ids::JobId;
use domain::ports::{Lab as _, Submitted};
use domain::rounds::TrialName;
use lab::iris::{IrisLab, launch_of};
use marin::iris::{BUNDLE_LIMIT, JobState};
use marin::{Clock, Iris};

use super::Args;
use super::asked::Asked;
use super::job::{Broken, Follower};
use super::said::{Check, PROBE, Report};
use super::stop::Stop;
use crate::command::run::{Commits, Known, Prepared, RunsOn, prepare, runtime};
use crate::failure::Failure;

/// The links in their order.
const LINKS: [&str; 8] =
    ["plan", "bundle", "launch", "scheduled", "installed", "started", "first execution", "first record"];
/// How long a job that must end is cared for.
const PATIENCE: Duration = Duration::from_mins(3);
/// How long a job is looked for that may have been launched by a call without an answer.
const SEARCH: Duration = Duration::from_mins(3);
const PAUSE: Duration = Duration::from_secs(1);

/// Runs the probe, unless a check stands against it.
pub(super) fn run(
    report: &mut Report<'_, '_>,
    asked: &Asked,
    args: &Args,
    against: Option<&'static str>,
) -> Result<(), Failure> {
    report.about(PROBE, &format!("{} at {} of {}", asked.said(), args.at, args.repo));
    if let Some(earlier) = against {
        skip(report, &LINKS, earlier);
        return Ok(());
    }
    let prepared = match plan(report, asked, args) {
        Ok(prepared) => prepared,
        Err(why) => {
            let todo = "correct what is asked for; --repo and --at name the commit";
            report.add(Check::fail("plan", why.to_string(), todo));
            skip(report, &LINKS[1..], "plan");
            return Ok(());
        }
    };
    let RunsOn::Cluster(connection) = &prepared.runs_on else { return Ok(()) };
    let trial = TrialName { run: prepared.plan.run.clone(), round: 1, replacement: 0, place: 1 };
    let name = format!("/{}/{trial}", connection.user);
    report.fact("job", name.clone());
    let commit = prepared.plan.arms.control().clone();
    report.fact("commit", commit.to_string());
    report.add(Check::ok("plan", format!("commit {}, job {name}", commit.short())));
    runtime()?.block_on(async {
        let stop = match Stop::listen(connection.clock(), args.limit) {
            Ok(stop) => stop,
            Err(why) => {
                let found = format!("Ctrl-C cannot be listened for, and a job might be left behind: {why}");
                report.add(Check::fail("bundle", found, "see the limits of this process"));
                return;
            }
        };
        let lab = connection.lab(std::sync::Arc::clone(&prepared.bundler));
        let mut probe = Probe { report, lab, iris: &connection.iris, clock: connection.clock(), trial, name };
        probe.whole(&prepared, stop).await;
    });
    Ok(())
}

/// These links are not looked at.
fn skip(report: &mut Report<'_, '_>, links: &[&'static str], earlier: &str) {
    for link in links {
        report.add(Check::skipped(link, earlier));
    }
}

/// The plan of `run` for one commit against itself: the job of the control is what runs.
fn plan(report: &Report<'_, '_>, asked: &Asked, args: &Args) -> Result<Prepared, Failure> {
    let commits = Commits { repo: &args.repo, base: Some(&args.at), head: &args.at, pinned: None };
    let known = Known { calibration: None, config: args.config.as_deref() };
    let mut prepared = prepare(&asked.suite, &asked.options, &commits, &known, report.world)?;
    prepared.plan.limit_ms = args.limit.0;
    Ok(prepared)
}

/// A probe under way.
struct Probe<'p, 'r, 'w> {
    report: &'p mut Report<'r, 'w>,
    lab: IrisLab,
    iris: &'p Iris,
    clock: Arc<dyn Clock>,
    trial: TrialName,
    name: String,
}

/// What is known of the job when the launch is over.
enum Launched {
    /// There is none.
    Not,
    /// There may be one.
    Perhaps,
    /// It is there.
    Job(JobId),
}

impl Probe<'_, '_, '_> {
    fn since(&self, start: Duration) -> u64 {
        u64::try_from(self.clock.elapsed().saturating_sub(start).as_millis()).unwrap_or(u64::MAX)
    }

    async fn whole(&mut self, prepared: &Prepared, mut stop: Stop) {
        let launched = self.launch(prepared, &stop).await;
        if let Launched::Job(job) = &launched {
            let Ok(launch) = launch_of(&prepared.plan, &Role::Control) else { return };
            let mut follower = Follower {
                lab: &self.lab,
                iris: self.iris,
                clock: &*self.clock,
                job,
                rules: &launch.rules,
                last: JobState::Unspecified,
            };
            if let Err(Broken { link, found, todo, lines, ms }) = follower.all(&mut stop, self.report).await {
                self.report.add(Check::fail(link, found, todo).with_lines(lines).took(ms));
                let at = LINKS.iter().position(|known| *known == link).unwrap_or(0);
                skip(self.report, &LINKS[at + 1..], link);
            }
        }
        // From here on nothing stops it: whoever is impatient would leave a job behind.
        if stop.why().is_some() && !matches!(launched, Launched::Not) {
            self.report.note("ending the job; please wait");
        }
        match launched {
            Launched::Not => {}
            Launched::Job(job) => self.end(job).await,
            Launched::Perhaps => self.search().await,
        }
    }

    /// The first two links. A launch is never broken off in the middle: whether there is a job must be known.
    async fn launch(&mut self, prepared: &Prepared, stop: &Stop) -> Launched {
        let plan = &prepared.plan;
        let start = self.clock.elapsed();
        let made = launch_of(plan, &Role::Control).and_then(|launch| self.lab.bundle(plan, &Role::Control, &launch));
        let bundle = match made {
            Ok(bundle) => bundle,
            Err(why) => {
                return self.not("bundle", start, &why, "see what the repository has at this commit", &LINKS[2..]);
            }
        };
        let bytes = bundle.bytes.len();
        let found = format!("{} files, {bytes} bytes of at most {BUNDLE_LIMIT}", bundle.files);
        self.report.add(Check::ok("bundle", found).took(self.since(start)));
        if let Some(why) = stop.why() {
            return self.not("launch", start, &why, "run it again", &LINKS[3..]);
        }
        let start = self.clock.elapsed();
        match self.lab.submit(plan, &self.trial, &Role::Control).await {
            Submitted::Accepted(job) | Submitted::AlreadyThere(job) => {
                self.report.add(Check::ok("launch", job.to_string()).took(self.since(start)));
                Launched::Job(job)
            }
            Submitted::Refused(why) => {
                let todo = refused(&why);
                self.not("launch", start, &why, todo, &LINKS[3..])
            }
            Submitted::NoAnswer(why) => {
                let todo = "see whether the controller runs, and what is between it and this machine";
                self.not("launch", start, &why, todo, &LINKS[3..]);
                Launched::Perhaps
            }
        }
    }

    fn not(
        &mut self,
        link: &'static str,
        start: Duration,
        found: &str,
        todo: &str,
        later: &[&'static str],
    ) -> Launched {
        // What cannot be made lists the files that are in the way, a line each.
        let mut lines = found.lines().map(str::to_owned);
        let first = lines.next().unwrap_or_default();
        let check = Check::fail(link, first, todo).with_lines(lines.collect()).took(self.since(start));
        self.report.add(check);
        skip(self.report, later, link);
        Launched::Not
    }

    /// A launch went without an answer: the job may be there, or come to be there.
    async fn search(&mut self) {
        let start = self.clock.elapsed();
        let Ok(root) = marin::JobId::new(&self.name) else { return };
        let mut known = false;
        while self.clock.elapsed().saturating_sub(start) < SEARCH {
            match self.iris.job(&root).await {
                Ok(record) => {
                    if let Ok(job) = record.job.job_id.parse() {
                        return self.end(job).await;
                    }
                }
                Err(error) if error.is_not_found() => known = true,
                Err(_) => known = false,
            }
            self.clock.sleep(PAUSE).await;
        }
        self.report.add(if known {
            Check::ok("gone", format!("no job {} is there", self.name)).took(self.since(start))
        } else {
            self.left("whether the job was launched is not known").took(self.since(start))
        });
    }

    fn left(&self, found: &str) -> Check {
        let todo = format!("end it by hand: iris job cancel {}", self.name);
        Check::fail("gone", found, todo)
    }

    /// Ends the job and waits until nothing of it runs.
    async fn end(&mut self, job: JobId) {
        let start = self.clock.elapsed();
        loop {
            match self.lab.terminate(&job).await {
                Ok(()) => break,
                Err(why) if self.clock.elapsed().saturating_sub(start) > PATIENCE => {
                    let check = self.left(&format!("it cannot be ended: {why}")).took(self.since(start));
                    return self.report.add(check);
                }
                Err(why) => self.report.note(&format!("ending it goes on: {why}")),
            }
            self.clock.sleep(PAUSE).await;
        }
        self.report.add(Check::ok("terminated", "the controller was told").took(self.since(start)));
        let start = self.clock.elapsed();
        let Ok(root) = marin::JobId::new(job.as_str()) else { return };
        let mut runs = "it still runs".to_owned();
        while self.clock.elapsed().saturating_sub(start) < PATIENCE {
            match self.iris.tree(&root).await {
                Ok(tree) => {
                    let all = || std::iter::once(&tree.root.job).chain(&tree.descendants);
                    let on: Vec<&str> =
                        all().filter(|job| !job.state.has_ended()).map(|job| job.job_id.as_str()).collect();
                    if on.is_empty() {
                        let state = tree.root.job.state.as_str().trim_start_matches("JOB_STATE_").to_owned();
                        let found = format!("{state}; nothing of it runs ({} jobs below it)", tree.descendants.len());
                        self.report.add(Check::ok("gone", found).took(self.since(start)));
                        return;
                    }
                    runs = format!("{} still run, such as {}", on.len(), on[0]);
                }
                Err(error) if error.is_not_found() => {
                    let found = "the controller does not know it any more";
                    return self.report.add(Check::ok("gone", found).took(self.since(start)));
                }
                Err(error) => runs = format!("whether it still runs is not known: {error}"),
            }
            self.clock.sleep(PAUSE).await;
        }
        let check = self.left(&runs).took(self.since(start));
        self.report.add(check);
    }
}

/// What to do about a launch that is refused.
fn refused(why: &str) -> &'static str {
    let has = |word: &str| why.contains(word);
    if has("unschedulable") {
        "no worker can ever take it: see cpu, ram and disk of [launcher], and whether the cluster has the region of [[localities]]"
    } else if has("not a configured federation peer") {
        "see target_cluster of [[localities]]: the controller passes no jobs on to it"
    } else if has("permission_denied") {
        "the login may not launch this: ask for priority=batch, or ask whoever runs the cluster"
    } else if has("client is too old") || has("older than the field") || has("does not know a value") {
        "controller and zephyr-ab do not fit together: use a newer version of the older one"
    } else if has("is there already") {
        "run it again: every probe has a name of its own"
    } else {
        "see what the controller says, and [launcher] of the suite"
    }
}
