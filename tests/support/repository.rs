//! A git repository with a benchmark in plain shell, made for one test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The benchmark of a commit: `sh step.sh one|two` turns a loop and says how often.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// Turns of the loop of step `one`; a million are about a second of CPU time.
    pub(crate) one: u32,
    /// Turns of the loop of step `two`.
    pub(crate) two: u32,
    /// What each step says that it processed.
    pub(crate) items: u32,
    /// Shell that is run first in step `two`.
    pub(crate) first: String,
}

impl Default for Bench {
    fn default() -> Self {
        Self { one: 30_000, two: 30_000, items: 7, first: String::new() }
    }
}

impl Bench {
    /// A benchmark whose second step begins with `shell`.
    pub(crate) fn first(shell: &str) -> Self {
        Self { first: shell.to_owned(), ..Self::default() }
    }

    fn text(&self) -> String {
        let Self { one, two, items, first } = self;
        format!(
            "turn() {{\n  i=0\n  while [ \"$i\" -lt \"$1\" ]; do i=$(( i + 1 )); done\n}}\ncase \"$1\" in\n  one) turn \
             {one} ;;\n  two)\n{first}\n    turn {two} ;;\nesac\necho '{{\"items\": {items}}}'\n"
        )
    }
}

/// A repository with a work tree.
#[derive(Debug)]
pub(crate) struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Makes a repository whose branch `main` has one commit.
    pub(crate) fn new(folder: &Path, bench: &Bench) -> Self {
        let this = Self::empty(folder, "main");
        this.commit(bench, "A benchmark");
        this
    }

    /// Makes a repository without a commit.
    pub(crate) fn empty(folder: &Path, branch: &str) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        let this = Self { folder: folder.to_owned() };
        this.git(&["init", "--quiet", &format!("--initial-branch={branch}")]);
        this
    }

    /// A repository that is there.
    pub(crate) fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the benchmark and commits everything; returns the commit.
    pub(crate) fn commit(&self, bench: &Bench, title: &str) -> String {
        std::fs::write(self.folder.join("step.sh"), bench.text()).expect("a file");
        self.commit_all(title)
    }

    /// Commits everything, even nothing; returns the commit.
    pub(crate) fn commit_all(&self, title: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", title]);
        self.commit_of("HEAD")
    }

    /// Makes a branch at `from` with a commit of its own; returns the commit.
    pub(crate) fn branch(&self, name: &str, from: &str, bench: &Bench) -> String {
        self.git(&["checkout", "--quiet", "-b", name, from]);
        self.commit(bench, name)
    }

    pub(crate) fn commit_of(&self, name: &str) -> String {
        self.git(&["rev-parse", "--verify", &format!("{name}^{{commit}}")])
    }

    /// Calls git with nothing of the user's configuration; returns what it printed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_at("2026-11-29T20:28:50Z", args)
    }

    /// The same, with commits of another date.
    pub(crate) fn git_at(&self, date: &str, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(&self.folder).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LC_ALL", "C");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "t").env(format!("GIT_{who}_EMAIL"), "t@localhost");
            command.env(format!("GIT_{who}_DATE"), date);
        }
        let output = command.output().expect("git starts");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}
