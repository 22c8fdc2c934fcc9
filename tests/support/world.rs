//! A world of its own for the program: a repository, a suite, folders for temporary files and for evidence. Every run in
//! it is verified from the folder that it left, and must leave nothing else.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use serde_json::Value;

use super::program::Ran;
use super::repository::{Bench, Repository};

/// Ends of waiting that no machine is too slow for.
const PATIENCE: u32 = 3000;
const MOMENT: Duration = Duration::from_millis(100);

/// Whoever measures what a test depends on has the machine for itself, as far as whole programs go.
static MACHINE: RwLock<()> = RwLock::new(());

/// Waits until no other whole program is measured, and keeps it so.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nobody wants the machine for itself, and keeps it so.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// The suite that most tests use: two short steps, judged with tolerances that a loaded machine does not break.
pub(crate) const SUITE: &str = r#"schema = 1
name = "tiny"
title = "Tiny A/B test"
backend = "local"

[[steps]]
name = "one"
argv = [["sh", "step.sh", "one"]]
limit = "120s"

[[steps]]
name = "two"
argv = [["sh", "step.sh", "two"]]
limit = "120s"

[presets.quick]
default = true
looks = { C = [5] }
limit = { wall = "5min" }

[judging]
margin = { cpu = "90%", elapsed = "100%", total_cpu = "90%", total_elapsed = "100%" }
floor = { cpu = "0.005s", elapsed = "0.005s" }
rounds_mode = "in-turn"

[rerun]
env_allowed = ["KNOB"]
"#;

/// A world.
pub(crate) struct World {
    /// The repository.
    pub(crate) repository: Repository,
    hold: tempfile::TempDir,
}

impl World {
    /// A world with [`SUITE`] and a repository whose `main` has one commit.
    pub(crate) fn new() -> Self {
        Self::of(&Bench::default())
    }

    /// The same with another benchmark.
    pub(crate) fn of(bench: &Bench) -> Self {
        let hold = tempfile::Builder::new().prefix("zab-test-").tempdir().expect("a folder");
        for part in ["tmp", "home"] {
            fs::create_dir(hold.path().join(part)).expect("a folder");
        }
        let repository = Repository::new(&hold.path().join("repository"), bench);
        let world = Self { repository, hold };
        world.suite(SUITE);
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.hold.path().join(name)
    }

    /// Writes the suite.
    pub(crate) fn suite(&self, text: &str) {
        fs::write(self.path("tiny.toml"), text).expect("a file");
    }

    /// A text with the world's own paths taken out.
    pub(crate) fn plain(&self, text: &str) -> String {
        text.replace(&self.hold.path().display().to_string(), "WORLD")
    }

    /// The program with these arguments, in this world and with nothing of the user's environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zephyr-ab"));
        command.args(args).current_dir(self.hold.path()).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMPDIR", self.path("tmp")).env("HOME", self.path("home"));
        command
    }

    /// Calls the program and waits for its end.
    pub(crate) fn call(&self, args: &[&str]) -> Ran {
        Started::new(self.command(args), self).wait()
    }

    /// The arguments of a run of the suite in the repository.
    fn run_args<'a>(args: &[&'a str]) -> Vec<&'a str> {
        let mut all = vec!["run", "tiny.toml", "--repo", "repository", "--out", "out"];
        all.extend(args);
        all
    }

    /// Calls the program for something that is measured, beside other tests; verifies the folders that it leaves, and that
    /// it leaves nothing else.
    pub(crate) fn measure(&self, args: &[&str]) -> Ran {
        let _beside = beside_others();
        let ran = self.call(args);
        self.check();
        ran
    }

    /// Runs the suite beside other tests; verifies the folder that it leaves, and that it leaves nothing else.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.measure(&Self::run_args(args))
    }

    /// The same for a caller that is [`alone`].
    pub(crate) fn run_alone(&self, args: &[&str]) -> Ran {
        let ran = self.call(&Self::run_args(args));
        self.check();
        ran
    }

    /// Starts a run and returns while it goes on. The caller checks what it left with [`Self::check`].
    pub(crate) fn start(&self, args: &[&str]) -> Started {
        self.begin(&Self::run_args(args))
    }

    /// The same with other arguments than those of the suite.
    pub(crate) fn begin(&self, args: &[&str]) -> Started {
        let beside = beside_others();
        let mut started = Started::new(self.command(args), self);
        started.beside = Some(beside);
        started
    }

    /// Nothing lives, nothing lies around, and every finished folder verifies.
    pub(crate) fn check(&self) {
        self.nothing_lives();
        assert_eq!(listed(&self.path("tmp")), [""; 0], "temporary files are left");
        self.verify();
    }

    /// Verifies every finished folder of this world by the program.
    pub(crate) fn verify(&self) {
        for folder in self.finished() {
            let ran = self.call(&["evidence", "verify", folder.to_str().expect("UTF-8")]);
            assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        }
    }

    /// Waits for the end of every process that belongs to this world.
    pub(crate) fn nothing_lives(&self) {
        let mut left = Vec::new();
        for _ in 0..PATIENCE / 10 {
            left = self.processes();
            if left.is_empty() {
                return;
            }
            pause(MOMENT);
        }
        panic!("still alive: {left:?}");
    }

    /// The processes that have to do with the folder of this world: by environment, arguments, or current folder.
    fn processes(&self) -> Vec<String> {
        let needle = self.hold.path().to_str().expect("UTF-8").to_owned();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let place = entry.path();
            let is_process = entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()));
            if !is_process {
                continue;
            }
            let read = |name: &str| {
                let bytes = fs::read(place.join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let cwd = fs::read_link(place.join("cwd")).map(|path| path.display().to_string()).unwrap_or_default();
            let line = read("cmdline");
            if [&line, &read("environ"), &cwd].into_iter().any(|text| text.contains(&needle)) {
                found.push(format!("{}: {line}", entry.file_name().display()));
            }
        }
        found
    }

    fn folders(&self, open: bool) -> Vec<PathBuf> {
        let is_open = |name: &String| Path::new(name).extension().is_some_and(|end| end == "open");
        let names = runs(&self.path("out")).into_iter().filter(|name| is_open(name) == open);
        names.map(|name| self.path("out").join(name)).collect()
    }

    /// The folders of finished runs, the oldest first.
    pub(crate) fn finished(&self) -> Vec<PathBuf> {
        self.folders(false)
    }

    /// The folders of runs that were not finished.
    pub(crate) fn unfinished(&self) -> Vec<PathBuf> {
        self.folders(true)
    }

    /// The folder of the one run of this world.
    pub(crate) fn evidence(&self) -> PathBuf {
        let [folder] = &self.finished()[..] else { panic!("{:?}", listed(&self.path("out"))) };
        folder.clone()
    }

    /// The plan of the one run of this world.
    pub(crate) fn plan(&self) -> Value {
        read_json(&self.evidence().join("plan.json"))
    }
}

/// Waits for other processes, which no clock of ours can move.
fn pause(time: Duration) {
    #[allow(clippy::disallowed_methods)]
    std::thread::sleep(time);
}

/// The names in a folder, sorted; none where there is no folder.
pub(crate) fn listed(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().display().to_string()).collect();
    names.sort();
    names
}

/// The names of the folders of runs in a folder, the oldest first.
pub(crate) fn runs(out: &Path) -> Vec<String> {
    listed(out).into_iter().filter(|name| out.join(name).is_dir()).collect()
}

/// Every file below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in listed(folder) {
        let path = folder.join(name);
        if path.is_dir() && !path.is_symlink() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

pub(crate) fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The program while it runs, with its output in files. It leads a group of processes of its own, as in a shell. Killed
/// when it is dropped too early.
pub(crate) struct Started {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    /// Held as long as it may run.
    beside: Option<RwLockReadGuard<'static, ()>>,
}

impl Started {
    fn new(mut command: Command, world: &World) -> Self {
        let output = tempfile::Builder::new().prefix("output-").tempdir_in(world.hold.path()).expect("a folder").keep();
        let (stdout, stderr) = (output.join("stdout"), output.join("stderr"));
        let file = |path: &Path| File::create_new(path).expect("a file");
        command.stdout(file(&stdout)).stderr(file(&stderr)).process_group(0);
        Self { child: command.spawn().expect("the program starts"), stdout, stderr, beside: None }
    }

    /// Sends a signal, such as `INT`; to its whole group, as a terminal does, where `group` says so.
    pub(crate) fn signal(&self, signal: &str, group: bool) {
        let target = format!("{}{}", if group { "-" } else { "" }, self.child.id());
        let line = format!("kill -s {signal} -- {target}");
        let status = Command::new("sh").args(["-c", &line]).status().expect("sh starts");
        assert!(status.success(), "{line}");
    }

    /// Waits until the file is there.
    pub(crate) fn until(&mut self, file: &Path) {
        for _ in 0..PATIENCE {
            if file.exists() {
                return;
            }
            assert!(self.child.try_wait().expect("a child").is_none(), "it has ended: {}", self.stderr());
            pause(MOMENT / 5);
        }
        panic!("{} never came: {}", file.display(), self.stderr());
    }

    /// Waits until something is so that the program brings about.
    pub(crate) fn until_so(&mut self, what: &str, mut so: impl FnMut() -> bool) {
        self.until_said(what, |_| so());
    }

    /// The same for something that it says.
    pub(crate) fn until_said(&mut self, what: &str, mut so: impl FnMut(&Self) -> bool) {
        for _ in 0..PATIENCE {
            if so(self) {
                return;
            }
            assert!(self.child.try_wait().expect("a child").is_none(), "it has ended: {}", self.stderr());
            pause(MOMENT);
        }
        panic!("never {what}: {}", self.stderr());
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).expect("UTF-8")
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).expect("UTF-8")
    }

    /// Waits for the end. The code of a program that a signal ended is `None`.
    pub(crate) fn wait(mut self) -> Ran {
        for turn in 0_u32.. {
            assert!(turn < PATIENCE * 5, "it never ends: {}", self.stderr());
            if let Some(status) = self.child.try_wait().expect("a child") {
                let stdout = fs::read_to_string(&self.stdout).expect("UTF-8");
                assert!(status.code().is_some() || status.signal().is_some());
                return Ran { code: status.code(), stdout, stderr: self.stderr() };
            }
            pause(MOMENT / 5);
        }
        unreachable!("the loop ends above")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Both fail for one that has ended, which is the usual case.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
