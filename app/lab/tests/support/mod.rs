//! Repositories made by plumbing, so that they may hold what git would not add.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use domain::ids::CommitSha;
use lab::git::{Mirror, Source};

/// The `PATH` of the tests.
pub(crate) fn path() -> OsString {
    std::env::var_os("PATH").expect("PATH")
}

/// A repository with an empty working tree, and a mirror of it once it is asked for.
pub(crate) struct Repo {
    pub(crate) dir: tempfile::TempDir,
}

/// One entry of a tree: mode, path in one part, object.
pub(crate) type Item<'a> = (&'a str, &'a [u8], &'a str);

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self { dir: tempfile::tempdir().expect("a folder") };
        repo.git(&["init", "--quiet", "--template=", "--initial-branch=main", "repo"]);
        repo
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.feed(args, b"")
    }

    /// Runs git with an input and returns what it prints, without the end of the line.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> String {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let (ok, printed) = self.try_feed(&args, input);
        assert!(ok, "git {args:?}: {printed}");
        printed
    }

    fn try_feed(&self, args: &[&OsStr], input: &[u8]) -> (bool, String) {
        let root = self.root();
        let mut child = Command::new("git")
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(args)
            .env_clear()
            .env("PATH", path())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
            .envs([("GIT_AUTHOR_DATE", "1700000000 +0000"), ("GIT_COMMITTER_DATE", "1700000000 +0000")])
            .current_dir(if root.exists() { root } else { self.dir.path().to_owned() })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git");
        child.stdin.take().expect("stdin").write_all(input).expect("input");
        let output = child.wait_with_output().expect("output");
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    pub(crate) fn blob(&self, content: &[u8]) -> String {
        self.feed(&["hash-object", "-w", "--stdin"], content)
    }

    /// A tree exactly as it is given, which git itself might refuse to make.
    pub(crate) fn raw_tree(&self, items: &[Item<'_>]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, object) in items {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend((0..20).map(|n| u8::from_str_radix(&object[2 * n..2 * n + 2], 16).expect("hex")));
        }
        self.feed(&["hash-object", "-w", "--literally", "-t", "tree", "--stdin"], &bytes)
    }

    pub(crate) fn commit_tree(&self, tree: &str, parents: &[&str], seconds: u64) -> CommitSha {
        let parents: String = parents.iter().flat_map(|parent| ["parent ", parent, "\n"]).collect();
        let who = format!("a <a@example.com> {seconds} +0000");
        let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\nx\n");
        let sha = self.feed(&["hash-object", "-w", "-t", "commit", "--stdin"], text.as_bytes());
        sha.parse().expect("a commit")
    }

    /// A commit on `main` of files with their content; a path may have several parts.
    pub(crate) fn commit(&self, files: &[(&str, &str)]) -> CommitSha {
        self.git(&["read-tree", "--empty"]);
        for (path, content) in files {
            let mode = if path.contains(".sh") { "100755" } else { "100644" };
            let blob = self.blob(content.as_bytes());
            self.git(&["update-index", "--add", "--cacheinfo", &format!("{mode},{blob},{path}")]);
        }
        let tree = self.git(&["write-tree"]);
        let parent = self.try_feed(&["rev-parse", "--verify", "main"].map(OsStr::new), b"");
        let parents: Vec<&str> = if parent.0 { vec![&parent.1] } else { vec![] };
        let commit = self.commit_tree(&tree, &parents, 1_700_000_000);
        self.git(&["update-ref", "refs/heads/main", commit.as_str()]);
        commit
    }

    /// A mirror that has everything that is reachable now.
    pub(crate) fn mirror(&self) -> Mirror {
        let mirror = Mirror::open(&self.dir.path().join("mirror"), &path()).expect("a mirror");
        mirror.fetch(&Source::folder(&self.root()).expect("a source")).expect("fetched");
        mirror
    }

    /// The tree on a branch of its own, in a mirror.
    pub(crate) fn mirrored(&self, tree: &str) -> (Mirror, CommitSha) {
        let commit = self.commit_tree(tree, &[], 1_700_000_000);
        self.git(&["update-ref", "refs/heads/main", commit.as_str()]);
        (self.mirror(), commit)
    }

    /// A folder to check out into.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        folder
    }
}

/// Every file, link and folder below a folder, with what it holds, in the order of the names.
pub(crate) fn listing(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().display().to_string());
        let kind = entry.file_type().expect("a kind");
        if kind.is_symlink() {
            found.push(format!("{name} -> {}", std::fs::read_link(&path).expect("a link").display()));
        } else if kind.is_dir() {
            found.push(format!("{name}/"));
            found.extend(listing(&path).into_iter().map(|inner| format!("{name}/{inner}")));
        } else {
            found.push(format!("{name} = {}", String::from_utf8_lossy(&std::fs::read(&path).expect("a file"))));
        }
    }
    found
}
