//! The world of these tests: the program, a repository of `tests/rig/repo.sh`, and the servers behind a proxy.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use marin::finelog::{Answer, Table};
use serde_json::{Value, json};

use super::http::call;
use super::measured::First;
use super::proxy::Proxy;
use crate::support::program::Ran;
use crate::support::repository::Repository;
use crate::support::root;
use crate::support::world::{World, read_json};

/// The user of jobs on a controller without logins.
pub(super) const USER: &str = "zephyr-ab";
/// The file whose two command lines the suite knows.
pub(super) const BENCHMARK: &str = "experiments/datakit/zephyr_benchmark.py";

/// The rig and a world to use it in.
pub(super) struct Rig {
    pub(super) world: World,
    pub(super) proxy: Proxy,
    pub(super) repository: Repository,
    pub(super) iris: String,
    finelog: String,
    /// The first run, whose jobs others look at.
    pub(super) first: OnceCell<First>,
}

impl Rig {
    pub(super) fn new() -> Self {
        let port = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
        let iris = format!("127.0.0.1:{}", port("IRIS_PORT", "10000"));
        let finelog = format!("127.0.0.1:{}", port("FINELOG_PORT", "10001"));
        let world = World::new();
        let folder = world.path("rig");
        let made = Command::new("bash").arg(root().join("tests/rig/repo.sh")).arg(&folder).status();
        assert!(made.expect("bash starts").success(), "repo.sh");
        let proxy = Proxy::start(&iris, &finelog);
        fs::write(world.path("cluster.toml"), proxy.configuration()).expect("a file");
        let repository = Repository::open(&folder);
        Self { world, proxy, repository, iris, finelog, first: OnceCell::new() }
    }

    /// Commits what `change` makes of the benchmark's text, on a new branch at `from`.
    pub(super) fn branch(&self, name: &str, from: &str, change: impl Fn(String) -> String) {
        self.repository.git(&["checkout", "--quiet", "-b", name, from]);
        let path = self.repository.folder().join(BENCHMARK);
        let text = fs::read_to_string(&path).expect("the benchmark");
        let changed = change(text.clone());
        assert_ne!(text, changed, "{name} changes nothing");
        fs::write(&path, changed).expect("a file");
        self.repository.commit_all(name);
        self.repository.git(&["checkout", "--quiet", "main"]);
    }

    /// The suite `rig` with a part of its text replaced; the name of the file.
    pub(super) fn suite(&self, name: &str, from: &str, to: &str) -> String {
        let text = fs::read_to_string(root().join("config/suites/rig.toml")).expect("the suite");
        assert!(text.contains(from), "{from}");
        let file = format!("{name}.toml");
        fs::write(self.world.path(&file), text.replace(from, to)).expect("a file");
        file
    }

    /// The arguments of a run of the small sample through the proxy.
    pub(super) fn run_args<'a>(suite: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut all = vec!["run", suite, "preset=small", "--repo", "rig", "--config", "cluster.toml", "--out", out];
        all.extend(more);
        all
    }

    /// Runs beside other tests, and reads the folder that it leaves.
    pub(super) fn run(&self, suite: &str, out: &str, more: &[&str]) -> Folder {
        self.done(out, &self.world.measure(&Self::run_args(suite, out, more)))
    }

    /// Compares jobs that ran, and reads the folder that it leaves.
    pub(super) fn compare(&self, suite: &str, out: &str, pairs: &[&str]) -> Folder {
        let mut all = vec!["compare", suite, "--config", "cluster.toml", "--out", out];
        all.extend(pairs);
        self.done(out, &self.world.call(&all))
    }

    fn done(&self, out: &str, ran: &Ran) -> Folder {
        assert_eq!(ran.code, Some(0), "{out}: {}{}", ran.stdout, ran.stderr);
        self.folder(out)
    }

    /// The one finished folder below `out`, verified by the program.
    pub(super) fn folder(&self, out: &str) -> Folder {
        let path = self.world.path(out);
        let entries = fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path());
        let folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        let [folder] = &folders[..] else { panic!("{folders:?}") };
        self.read(folder)
    }

    /// A finished folder, verified by the program.
    pub(super) fn read(&self, folder: &Path) -> Folder {
        let ran = self.world.call(&["evidence", "verify", folder.to_str().expect("UTF-8")]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        Folder { evidence: read_json(&folder.join("evidence.json")), path: folder.to_owned() }
    }

    /// What the controller answers to a call past the proxy.
    pub(super) fn controller(&self, method: &str, request: &Value) -> Value {
        call(&self.iris, &format!("iris.cluster.ControllerService/{method}"), request)
    }

    /// The rows of a query past the proxy and past the program's own texts.
    pub(super) fn query(&self, sql: &str) -> Table {
        let answer = call(&self.finelog, "finelog.stats.StatsService/Query", &json!({ "sql": sql }));
        let answer: Answer = serde_json::from_value(answer).expect("an answer to a query");
        answer.table().expect("a table")
    }

    /// Every job whose name begins so, with its state.
    pub(super) fn jobs(&self, prefix: &str) -> Vec<(String, String)> {
        let query = json!({ "jobIdPrefix": prefix, "scope": "JOB_QUERY_SCOPE_ALL", "limit": 500 });
        let answer = self.controller("ListJobs", &json!({ "query": query }));
        let text = |job: &Value, key: &str| job[key].as_str().unwrap_or_default().to_owned();
        let jobs = answer["jobs"].as_array().cloned().unwrap_or_default();
        jobs.iter().map(|job| (text(job, "jobId"), text(job, "state"))).collect()
    }
}

/// A finished folder of evidence.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) evidence: Value,
}

impl Folder {
    pub(super) fn run(&self) -> String {
        self.path.file_name().expect("a name").display().to_string()
    }

    pub(super) fn comment(&self) -> String {
        fs::read_to_string(self.path.join("comment.md")).expect("a comment")
    }

    /// The job of a trial of a run.
    pub(super) fn job(&self, round: &str, place: u32) -> String {
        format!("/{USER}/zab-{}-r{round}-{place}", self.run())
    }

    pub(super) fn rounds(&self) -> &Value {
        &self.evidence["case"]["rounds"]
    }

    /// The names of the rows of an arm in the first round.
    pub(super) fn rows(&self, arm: &str) -> Vec<String> {
        let stages = self.rounds()[0][arm]["stages"].as_object().expect("rows");
        stages.keys().cloned().collect()
    }

    /// A file of the answers of a trial, by the end of its folder's name.
    pub(super) fn answer(&self, trial: &str, file: &str) -> Value {
        read_json(&self.path.join("arms").join(trial).join(file))
    }
}

/// The argument after an option.
pub(super) fn option<'a>(argv: &'a [String], name: &str) -> Option<&'a str> {
    let at = argv.iter().position(|word| word == name)?;
    argv.get(at + 1).map(String::as_str)
}

/// The command line of a job as it was asked for.
pub(super) fn argv(folder: &Folder, trial: &str) -> Vec<String> {
    let job = folder.answer(trial, "job.json");
    let argv = &job["root"]["request"]["entrypoint"]["runCommand"]["argv"];
    let words = argv.as_array().unwrap_or_else(|| panic!("{job}"));
    words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
}

/// Whether a path is there.
pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
