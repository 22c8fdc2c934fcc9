//! Trials as real processes. This program is also the supervisor of its own tests, and the parent that is killed, so that
//! it has a `main` of its own.

// Helpers of tests fail by panicking, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[allow(dead_code)] // each test program uses its own part
#[path = "../support/mod.rs"]
mod support;
mod world;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use domain::arms::Role;
use domain::plan::Plan;
use domain::ports::{Cause, Collected, End, JobState, Lab as _, Submitted};
use lab::assemble;
use lab::git::Mirror;
use lab::local::{Launch, LocalLab};
use lab::supervisor::Exit;
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use support::path;
use world::{BUSY, World, alive, application, cpu, now, plan, settings, step, text, trial, until};

const SUPERVISE: &str = "supervise";
const VICTIM: &str = "victim";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some(SUPERVISE) => return lab::supervisor::main(),
        Some(VICTIM) => return victim(Path::new(&args[2])),
        _ => {}
    }
    let tests: [(&str, fn()); 24] = [
        ("a_trial_from_checkout_to_rows", a_trial_from_checkout_to_rows),
        ("work_of_a_grandchild_is_counted", work_of_a_grandchild_is_counted),
        ("a_process_that_daemonises_is_counted_and_killed", a_process_that_daemonises_is_counted_and_killed),
        ("a_step_that_sleeps_for_ever_reaches_its_limit", a_step_that_sleeps_for_ever_reaches_its_limit),
        ("the_limit_of_the_trial_holds_too", the_limit_of_the_trial_holds_too),
        ("a_step_that_prints_much_is_cut", a_step_that_prints_much_is_cut),
        ("a_step_that_forks_and_forks_is_killed", a_step_that_forks_and_forks_is_killed),
        ("how_steps_fail", how_steps_fail),
        ("steps_that_cannot_be_started", steps_that_cannot_be_started),
        ("the_environment_is_clean", the_environment_is_clean),
        ("steps_side_by_side", steps_side_by_side),
        ("a_failing_step_ends_those_beside_it", a_failing_step_ends_those_beside_it),
        ("stopping_in_the_middle", stopping_in_the_middle),
        ("dropping_the_backend_kills_everything", dropping_the_backend_kills_everything),
        ("a_killed_parent_leaves_nothing_behind", a_killed_parent_leaves_nothing_behind),
        ("a_killed_supervisor_leaves_nothing_behind", a_killed_supervisor_leaves_nothing_behind),
        ("a_supervisor_that_is_told_to_end_kills_its_step", a_supervisor_that_is_told_to_end_kills_its_step),
        ("a_stopped_supervisor_is_killed_after_the_limit", a_stopped_supervisor_is_killed_after_the_limit),
        ("a_stopped_supervisor_does_not_hold_up_the_end", a_stopped_supervisor_does_not_hold_up_the_end),
        ("what_ends_together_with_a_step_is_not_left_behind", what_ends_together_with_a_step_is_not_left_behind),
        ("answers_are_not_written_through_links", answers_are_not_written_through_links),
        ("a_pipe_in_place_of_an_output_holds_nothing_up", a_pipe_in_place_of_an_output_holds_nothing_up),
        ("what_the_disk_refuses_is_named", what_the_disk_refuses_is_named),
        ("a_trial_is_started_once_and_plans_are_checked", a_trial_is_started_once_and_plans_are_checked),
    ];
    let run = |test: fn()| {
        move || {
            test();
            Ok(())
        }
    };
    let tests = tests.into_iter().map(|(name, test)| Trial::test(name, run(test))).collect();
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn a_trial_from_checkout_to_rows() {
    let world = World::new();
    let mut own = step("exact · map", "");
    own.argv = ["./bench.sh", "a b", "$HOME"].map(str::to_owned).to_vec();
    let count = r#"echo noise; echo '{"items": 12, "bytes": -1, "output_digest": "sha256:0f"}'; cat data >&2"#;
    let job = world.submit(vec![own, step("count", count)]);
    assert_eq!(job.to_string(), format!("/local/{}", trial(1)));
    let end = world.end(&job);
    assert_eq!(end, End::Succeeded);
    let answers = world.answers(&job);
    let names: Vec<&str> = answers.iter().map(|answer| answer.name.as_str()).collect();
    let expected = [
        "job.json",
        "steps.json",
        "load.json",
        "01-exact---map.stdout",
        "01-exact---map.stderr",
        "02-count.stdout",
        "02-count.stderr",
    ];
    assert_eq!(names, expected);
    assert!(text(&answers, "01-exact---map.stdout").ends_with("bench.sh a b $HOME\n"));
    assert_eq!(text(&answers, "02-count.stderr"), "12");
    let assembled = assemble::local(&answers).unwrap();
    let rows: Vec<&str> = assembled.trial.stages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(rows, ["exact · map", "count"]);
    let [(_, first), (_, second)] = &assembled.trial.stages[..] else { panic!("two rows") };
    assert!(first.items.is_missing() && first.bytes_processed.is_missing());
    assert_eq!((second.items.value(), second.bytes_processed), (Some(12.0), domain::stats::Reading::Bad));
    assert!(second.total_shards.is_missing() && second.not_ended.is_none());
    for stage in [first, second] {
        assert!(stage.elapsed.positive().is_some() && stage.cpu_time_total.positive().is_some());
        assert!(stage.mem_peak_bytes_max.value().is_some_and(|bytes| (1e5..1e9).contains(&bytes)));
    }
    assert_eq!(assembled.steps[1].output_digest.as_deref(), Some("sha256:0f"));
    let load = assembled.load.unwrap();
    assert!(load.host.class().is_some() && load.steps.len() == 2);
    assert!(load.steps[1].machine.busy_seconds.is_some() && load.steps[1].other_seconds.is_some());
    assert_eq!(answers, world.answers(&job), "a second probe is equal");
    world.assert_gone();
}

fn work_of_a_grandchild_is_counted() {
    let world = World::new();
    let idle = cpu(&world.measure("true").1);
    let world = World::new();
    let (end, trial, _) =
        world.measure(&format!("/bin/sh -c '/bin/sh -c \"{}\"; true'; true", BUSY.replace('$', "\\$")));
    assert_eq!(end, End::Succeeded);
    // Counting takes more than ten times the CPU of starting a shell.
    assert!(cpu(&trial) > 0.02 && cpu(&trial) > 2.0 * idle, "{} against {idle}", cpu(&trial));
    world.assert_gone();
}

fn a_process_that_daemonises_is_counted_and_killed() {
    let world = World::new();
    let (pid, done) = (world.file("pid"), world.file("done"));
    // An orphan in a session of its own, which works, says so, and then would stay for ever.
    let daemon = format!("echo $$ > {}; {BUSY}; echo > {}; exec sleep 1000", pid.display(), done.display());
    std::fs::write(world.file("daemon.sh"), daemon).unwrap();
    let start = format!(
        "(setsid /bin/sh {0}/daemon.sh > {0}/log 2>&1 < /dev/null &) ; while [ ! -e {1} ]; do sleep 0.01; done",
        world.repo.dir.path().display(),
        done.display()
    );
    let (end, trial, _) = world.measure(&start);
    assert_eq!(end, End::Succeeded);
    assert!(!alive(world.pid("pid")));
    assert_eq!(trial.steps[0].left_behind, 1);
    assert_eq!(trial.trial.stages[0].1.not_ended.as_deref(), Some("left 1 process running"));
    assert!(cpu(&trial) > 0.02, "{}", cpu(&trial));
    world.assert_gone();
}

fn a_step_that_sleeps_for_ever_reaches_its_limit() {
    let world = World::new();
    let pid = world.file("pid");
    let mut sleeping = step("s", &format!("trap '' TERM HUP INT; sleep 1000 & echo $! > {}; wait", pid.display()));
    sleeping.limit_ms = Some(300);
    let (end, answers) = world.run(vec![sleeping, step("never", "true")]);
    assert_eq!(end, End::Failed { cause: Cause::TimeLimit });
    let trial = assemble::local(&answers).unwrap();
    assert_eq!(trial.steps.len(), 1);
    assert!(matches!(trial.steps[0].exit, Exit::Limit(_)));
    let job: Value = serde_json::from_str(&text(&answers, "job.json")).unwrap();
    assert_eq!(job["limit_reached_by"], serde_json::json!(["s"]));
    assert!(trial.trial.stages[0].1.elapsed.value().is_some_and(|elapsed| elapsed >= 0.3));
    assert!(!alive(world.pid("pid")));
    world.assert_gone();
}

fn the_limit_of_the_trial_holds_too() {
    let world = World::new();
    let mut plan = plan(&world.commit, &Launch { steps: vec![step("a", "sleep 0.1"), step("b", "sleep 1000")] });
    plan.limit_ms = 500;
    let Submitted::Accepted(job) = now(world.lab().submit(&plan, &trial(1), &Role::Control)) else { panic!("refused") };
    assert_eq!(world.end(&job), End::Failed { cause: Cause::TimeLimit });
    let trial = assemble::local(&world.answers(&job)).unwrap();
    assert!(trial.trial.stages[1].1.elapsed.value().is_some_and(|elapsed| elapsed < 0.5));
    world.assert_gone();
}

fn a_step_that_prints_much_is_cut() {
    let world = World::with(|settings| settings.keep_bytes = 1 << 20);
    let script = r#"echo first; head -c 200000000 /dev/zero; echo; echo '{"items": 5}'; head -c 3000000 /dev/zero >&2"#;
    let (end, trial, answers) = world.measure(script);
    assert_eq!(end, End::Succeeded);
    let out = text(&answers, "01-s.stdout");
    assert!((1 << 20..(1 << 20) + 100).contains(&out.len()), "{}", out.len());
    assert!(out.starts_with("first\n") && out.ends_with("{\"items\": 5}\n") && out.contains("bytes are not kept"));
    assert_eq!(trial.trial.stages[0].1.items.value(), Some(5.0));
    assert!(trial.steps[0].truncated);
    let steps: Value = serde_json::from_str(&text(&answers, "steps.json")).unwrap();
    let printed = 200_000_000 + "first\n\n{\"items\": 5}\n".len();
    assert_eq!(
        (steps[0]["stdout_bytes"].as_u64(), steps[0]["stderr_bytes"].as_u64()),
        (Some(printed as u64), Some(3_000_000))
    );
    world.assert_gone();
}

fn a_step_that_forks_and_forks_is_killed() {
    let world = World::new();
    let alive_file = world.file("spawned");
    // Each generation starts the next one in a session of its own and goes: no parent, no group to hold on to.
    let chain = format!("echo $$ > {0}/spawned; setsid /bin/sh {0}/chain.sh & exit", world.repo.dir.path().display());
    std::fs::write(world.file("chain.sh"), chain).unwrap();
    let script = format!(
        "/bin/sh {0}/chain.sh & /bin/sh {0}/chain.sh & while [ ! -e {1} ]; do sleep 0.01; done; sleep 0.1",
        world.repo.dir.path().display(),
        alive_file.display()
    );
    let (end, ..) = world.measure(&script);
    assert_eq!(end, End::Succeeded);
    let last = std::fs::read_to_string(&alive_file).unwrap();
    let marker = world.repo.dir.path().display().to_string();
    let left = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter(|entry| {
                let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains(&format!("{marker}/chain.sh"))
            })
            .count()
    };
    assert_eq!(left(), 0);
    assert_eq!(std::fs::read_to_string(&alive_file).unwrap(), last, "something still runs");
    world.assert_gone();
}

fn how_steps_fail() {
    for (script, exit, expected) in [
        ("echo out; echo wrong >&2; exit 3", Exit::Code(3), "step s exited with 3:\nwrong"),
        ("echo only; exit 1", Exit::Code(1), "step s exited with 1:\nonly"),
        ("kill -SEGV $$", Exit::Signal(11), "step s was ended by signal 11 (SIGSEGV)"),
        ("kill -TERM $$", Exit::Signal(15), "step s was ended by signal 15 (SIGTERM)"),
    ] {
        let world = World::new();
        let (end, answers) = world.run(vec![step("s", script), step("never", "true")]);
        assert_eq!(application(&end), expected);
        let trial = assemble::local(&answers).unwrap();
        assert_eq!((trial.steps.len(), &trial.steps[0].exit), (1, &exit));
        assert_eq!(trial.trial.events.count(domain::stats::Event::AppFailure), 1);
        world.assert_gone();
    }
    // Nobody knows who sent SIGKILL: that is not held against the change.
    let world = World::new();
    let (end, trial, _) = world.measure("kill -KILL $$");
    assert!(
        matches!(&end, End::Failed { cause: Cause::Infrastructure(text) } if text.contains("not known")),
        "{end:?}"
    );
    assert_eq!(trial.steps[0].exit, Exit::Signal(9));
    assert_eq!(trial.trial.events.count(domain::stats::Event::UnknownFailure), 1);
    world.assert_gone();
}

fn steps_that_cannot_be_started() {
    for (program, ours) in [("./missing.sh", true), ("./data", true), ("no-such-program", false), ("/no/such", false)] {
        let world = World::new();
        let mut missing = step("s", "");
        missing.argv = vec![program.to_owned()];
        let (end, answers) = world.run(vec![missing]);
        let End::Failed { cause } = end else { panic!("{end:?}") };
        let (Cause::Application { text, .. } | Cause::Infrastructure(text)) = &cause else { panic!("{cause:?}") };
        assert!(text.starts_with("step s could not be started: "), "{text}");
        assert_eq!(matches!(cause, Cause::Application { .. }), ours, "{program}");
        assert!(matches!(assemble::local(&answers).unwrap().steps[0].exit, Exit::NotStarted(_)));
        world.assert_gone();
    }
}

fn the_environment_is_clean() {
    let world = World::new();
    let script = r#"env | sort; cat; ls -A "$HOME" "$TMPDIR" | grep -v '^/' >&2; cat "/proc/$PPID/environ" >&2
        echo x > "$TMPDIR/x"; mkdir locked; chmod 000 locked"#;
    let mut printing = step("s", script);
    printing.env = [("DECLARED".to_owned(), "a b".to_owned()), ("LANG".to_owned(), "C".to_owned())].into();
    let (end, answers) = world.run(vec![printing]);
    assert_eq!(end, End::Succeeded);
    let out = text(&answers, "01-s.stdout");
    let names = out.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    // The shell itself adds the rest.
    let names: Vec<&str> = names.filter(|name| !["_", "OLDPWD", "SHLVL"].contains(name)).collect();
    assert_eq!(names, ["DECLARED", "HOME", "LANG", "PATH", "PWD", "TMPDIR"]);
    assert!(out.contains("DECLARED=a b\n") && out.contains("LANG=C\n"));
    let found = text(&answers, "01-s.stderr");
    assert_eq!(found.trim(), "", "the folders are empty and so is the environment of the supervisor");
    world.assert_gone();
}

fn steps_side_by_side() {
    let world = World::new();
    let meet = |own: &str, other: &str| {
        let dir = world.repo.dir.path().display().to_string();
        format!("echo > {dir}/{own}; while [ ! -e {dir}/{other} ]; do sleep 0.01; done")
    };
    // Each waits for the other, so that they end only side by side; the third must come after both.
    let mut beside = step("b", &meet("b", "a"));
    beside.parallel = true;
    let steps = vec![step("a", &meet("a", "b")), beside, step("c", "echo '{\"items\": 1}'")];
    let (end, answers) = world.run(steps);
    assert_eq!(end, End::Succeeded);
    let rows: Vec<String> = assemble::local(&answers).unwrap().trial.stages.into_iter().map(|(name, _)| name).collect();
    assert_eq!(rows, ["a", "b", "c"]);
    world.assert_gone();
}

fn a_failing_step_ends_those_beside_it() {
    let world = World::new();
    let mut beside = step("b", "exit 4");
    beside.parallel = true;
    let (end, answers) = world.run(vec![step("a", "sleep 1000"), beside]);
    assert_eq!(application(&end), "step b exited with 4");
    let exits: Vec<Exit> = assemble::local(&answers).unwrap().steps.into_iter().map(|step| step.exit).collect();
    assert!(matches!(exits[..], [Exit::Stopped(_), Exit::Code(4)]), "{exits:?}");
    world.assert_gone();
}

fn stopping_in_the_middle() {
    let world = World::new();
    let pid = world.file("pid");
    let job = world.submit(vec![
        step("a", "true"),
        step("b", &format!("echo $$ > {}; sleep 1000", pid.display())),
        step("c", "true"),
    ]);
    let pid = world.pid("pid");
    let running = JobState::Running { step: Some("b".to_owned()), done: 1, of: 3 };
    assert_eq!(now(world.lab().poll(&job)), Ok(running));
    assert!(matches!(
        now(world.lab().collect(&plan(&world.commit, &Launch::default()), &trial(1), &job, 1)),
        Collected::Unavailable(_)
    ));
    now(world.lab().terminate(&job)).unwrap();
    assert_eq!(world.end(&job), End::Failed { cause: Cause::Stopped });
    assert!(!alive(pid));
    now(world.lab().terminate(&job)).unwrap();
    let steps = assemble::local(&world.answers(&job)).unwrap().steps;
    assert!(matches!(steps[..], [_, ref b] if matches!(b.exit, Exit::Stopped(_))), "{steps:?}");
    world.assert_gone();
}

fn dropping_the_backend_kills_everything() {
    let mut world = World::new();
    let pid = world.file("pid");
    world.submit(vec![step("a", &format!("echo $$ > {}; sleep 1000", pid.display()))]);
    let pid = world.pid("pid");
    world.lab = None;
    assert!(!alive(pid));
    world.assert_gone();
}

/// Runs a trial that never ends in `dir`, says so, and waits to be killed.
fn victim(dir: &Path) -> ExitCode {
    let mirror = Mirror::open(&dir.join("mirror"), &path()).unwrap();
    let commit = mirror.resolve("main").unwrap();
    let lab = LocalLab::open(settings(dir, mirror)).unwrap();
    let script = format!("echo $$ > {0}/pid; (setsid sleep 1000 & echo $! > {0}/orphan); sleep 1000", dir.display());
    let plan = plan(&commit, &Launch { steps: vec![step("s", &script)] });
    now(lab.submit(&plan, &trial(1), &Role::Control));
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    ExitCode::SUCCESS
}

fn a_killed_parent_leaves_nothing_behind() {
    let mut world = World::new();
    world.lab = None;
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([VICTIM.as_ref(), world.repo.dir.path()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(victim.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids = [world.pid("pid"), world.pid("orphan")];
    assert!(pids.into_iter().all(alive));
    victim.kill().unwrap();
    victim.wait().unwrap();
    until("the processes to die", || pids.into_iter().all(|pid| !alive(pid)).then_some(()));
    assert_eq!(std::fs::read_dir(world.jobs()).unwrap().count(), 1, "the folder is swept by the next backend");
    world.lab = Some(LocalLab::open(settings(world.repo.dir.path(), world.repo.mirror())).unwrap());
    assert_eq!(std::fs::read_dir(world.jobs()).unwrap().count(), 1, "its own");
    world.assert_gone();
}

fn a_killed_supervisor_leaves_nothing_behind() {
    let world = World::new();
    let dir = world.repo.dir.path().display().to_string();
    let script = format!(
        "(setsid sleep 1000 & echo $! > {dir}/orphan); while [ ! -s {dir}/orphan ]; do sleep 0.01; done; kill -KILL $PPID; sleep 1000"
    );
    let (end, answers) = world.run(vec![step("s", &script)]);
    let End::Failed { cause: Cause::Infrastructure(text) } = &end else { panic!("{end:?}") };
    assert!(text.starts_with("step s: its supervisor ended without a report"), "{text}");
    assert_eq!(answers.len(), 1);
    let orphan = world.pid("orphan");
    until("the orphan to die", || (!alive(orphan)).then_some(()));
    world.assert_gone();
}

fn a_supervisor_that_is_told_to_end_kills_its_step() {
    let world = World::new();
    let pid = world.file("pid");
    let script = format!("(setsid sleep 1000 & echo $! > {0}); kill -TERM $PPID; sleep 1000", pid.display());
    let (end, answers) = world.run(vec![step("s", &script)]);
    let expected = Cause::Infrastructure("step s was stopped, and not by this trial".to_owned());
    assert_eq!(end, End::Failed { cause: expected });
    assert!(!alive(world.pid("pid")));
    assert!(matches!(assemble::local(&answers).unwrap().steps[0].exit, Exit::Stopped(_)));
    world.assert_gone();
}

/// A step that stops its supervisor and leaves an orphan that nothing of its environment gives away.
fn stopping(world: &World) -> String {
    let dir = world.repo.dir.path().display().to_string();
    format!(
        "echo $PPID > {dir}/supervisor; (env -i setsid sleep 1000 & echo $! > {dir}/orphan); echo $$ > {dir}/pid; \
         kill -STOP $PPID; sleep 1000"
    )
}

fn a_stopped_supervisor_is_killed_after_the_limit() {
    let world = World::new();
    let mut stopping = step("s", &stopping(&world));
    stopping.limit_ms = Some(2000);
    let (end, answers) = world.run(vec![step("first", "echo '{\"items\": 3}'"), stopping]);
    let expected = Cause::Infrastructure("step s: its supervisor did not answer and was killed".to_owned());
    assert_eq!(end, End::Failed { cause: expected });
    for pid in ["supervisor", "orphan", "pid"] {
        assert!(!alive(world.pid(pid)), "{pid}");
    }
    // What was measured until then is there.
    assert_eq!(assemble::local(&answers).unwrap().trial.stages[0].1.items.value(), Some(3.0));
    world.assert_gone();
}

fn a_stopped_supervisor_does_not_hold_up_the_end() {
    let mut world = World::new();
    world.submit(vec![step("s", &stopping(&world))]);
    let supervisor = world.pid("supervisor");
    until("it to stop", || {
        let stat = std::fs::read_to_string(format!("/proc/{supervisor}/stat")).ok()?;
        stat.rsplit(')').next()?.trim_start().starts_with('T').then_some(())
    });
    world.lab = None;
    for pid in ["supervisor", "orphan", "pid"] {
        assert!(!alive(world.pid(pid)), "{pid}");
    }
    world.assert_gone();
}

fn what_ends_together_with_a_step_is_not_left_behind() {
    let world = World::new();
    // A helper that ends when the step does: it reads a pipe that only the step holds.
    let fifo = world.file("fifo");
    let script = format!("mkfifo {0}; (cat < {0} > /dev/null &); exec 3> {0}", fifo.display());
    let (end, trial, _) = world.measure(&script);
    assert_eq!(end, End::Succeeded);
    assert_eq!((trial.steps[0].left_behind, trial.trial.stages[0].1.not_ended.as_deref()), (0, None));
    world.assert_gone();
}

fn answers_are_not_written_through_links() {
    // Each of them would make this program write into a file of the user's.
    for (script, refused) in [
        ("ln -s VICTIM ../answers/01-s.stdout", "step s: what the step printed cannot be kept: "),
        ("ln VICTIM ../answers/01-s.stderr", "step s: what the step printed cannot be kept: "),
        ("ln -s VICTIM ../answers/steps.json", "the answers cannot be written: "),
        ("mv ../answers ../x; mkdir ../answers", "the answers cannot be written: "),
        ("mv ../answers ../x; ln -s ../x ../answers", "the answers cannot be written: "),
    ] {
        let world = World::new();
        let victim = world.file("victim");
        std::fs::write(&victim, "mine").unwrap();
        let script = script.replace("VICTIM", &victim.display().to_string());
        let job = world.submit(vec![step("s", &script)]);
        let end = world.end(&job);
        let End::Failed { cause: Cause::Infrastructure(why) } = &end else { panic!("{script}: {end:?}") };
        assert!(why.starts_with(refused), "{script}: {why}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine", "{script}");
        for answer in world.answers(&job) {
            assert_ne!(answer.bytes, b"mine", "{script}");
        }
        world.assert_gone();
    }
}

fn a_pipe_in_place_of_an_output_holds_nothing_up() {
    let world = World::new();
    let script = "rm ../answers/01-s.stdout; mkfifo ../answers/01-s.stdout";
    let job = world.submit(vec![step("s", "true"), step("t", script)]);
    assert_eq!(world.end(&job), End::Succeeded);
    let collected = now(world.lab().collect(&plan(&world.commit, &Launch::default()), &trial(1), &job, 1));
    let Collected::Incomplete(_, missing) = collected else { panic!("{collected:?}") };
    assert_eq!(missing, ["01-s.stdout: it is no regular file"]);
    world.assert_gone();
}

fn what_the_disk_refuses_is_named() {
    let world = World::new();
    let plan = plan(&world.commit, &Launch { steps: vec![step("s", "true")] });
    // Where a folder should be made stands a file: the same kind of refusal without filling a disk.
    let own = std::fs::read_dir(world.jobs()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(own.join("000000"), "").unwrap();
    let refused = now(world.lab().submit(&plan, &trial(1), &Role::Control));
    assert!(matches!(&refused, Submitted::Refused(why) if why.contains("File exists")), "{refused:?}");
    world.assert_gone();

    // A checkout over the limit ends the trial with the reason; no step is started.
    let world = World::with(|settings| settings.checkout.bytes = 10);
    let (end, answers) = world.run(vec![step("s", "true")]);
    let End::Failed { cause: Cause::Infrastructure(text) } = &end else { panic!("{end:?}") };
    assert!(text.ends_with("the tree is larger than the limit of 10 bytes"), "{text}");
    assert_eq!(answers.len(), 1);
    world.assert_gone();
}

fn a_trial_is_started_once_and_plans_are_checked() {
    let world = World::new();
    let role: Role = "head".parse().unwrap();
    let mut plan = plan(&world.commit, &Launch { steps: vec![step("s", "true")] });
    assert_eq!(now(world.lab().find(&plan, &trial(1))), Ok(None));
    let Submitted::Accepted(job) = now(world.lab().submit(&plan, &trial(1), &role)) else { panic!("refused") };
    assert_eq!(now(world.lab().submit(&plan, &trial(1), &role)), Submitted::AlreadyThere(job.clone()));
    assert_eq!(now(world.lab().find(&plan, &trial(1))), Ok(Some(job.clone())));
    assert_eq!(world.end(&job), End::Succeeded);
    assert_eq!(now(world.lab().submit(&plan, &trial(1), &role)), Submitted::AlreadyThere(job.clone()));
    let other = format!("/elsewhere/{}", trial(1)).parse().unwrap();
    assert_eq!(now(world.lab().poll(&other)), Ok(JobState::Unknown));
    assert!(matches!(now(world.lab().collect(&plan, &trial(1), &other, 1)), Collected::Unavailable(_)));
    now(world.lab().terminate(&other)).unwrap();

    let refused = |plan: &Plan, role: &str| match now(world.lab().submit(plan, &trial(2), &role.parse().unwrap())) {
        Submitted::Refused(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&plan, "nobody"), "the plan has no arm nobody");
    plan.launches.insert("head".to_owned(), serde_json::json!({"steps": []}));
    assert_eq!(refused(&plan, "head"), "the launch of head: there is no step to run");
    plan.launches.insert("head".to_owned(), serde_json::json!({"command": "rm -rf /"}));
    assert!(refused(&plan, "head").starts_with("the launch of head cannot be read: unknown field `command`"));
    plan.launches.clear();
    assert_eq!(refused(&plan, "control"), "the plan has no launch for control");
    world.assert_gone();
}
