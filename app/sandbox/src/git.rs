//! Repositories as they are on disk, by the git that is installed.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::Error;
use crate::stamp::written;

/// Calls git with nothing of the user's configuration.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    path: OsString,
}

/// A commit that is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New<'a> {
    pub(crate) files: &'a [(&'a str, Option<&'a str>)],
    pub(crate) message: &'a str,
    pub(crate) by: &'a str,
    pub(crate) now_ms: u64,
}

/// A text in the stream that `git fast-import` reads.
fn data(stream: &mut Vec<u8>, text: &str) {
    stream.extend(format!("data {}\n{text}\n", text.len()).into_bytes());
}

/// A changed file between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) name: String,
    pub(crate) old_name: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
    pub(crate) blob: Option<String>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) message: String,
    pub(crate) author: String,
    pub(crate) email: String,
    pub(crate) date_ms: u64,
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) kind: String,
    pub(crate) sha: String,
    pub(crate) size: u64,
    pub(crate) path: String,
}

impl Git {
    /// Looks for git in this `PATH`.
    pub(crate) fn new(path: OsString) -> Self {
        Self { path }
    }

    /// A call in a bare repository, without its arguments.
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(folder).env_clear().env("PATH", &self.path).env("LC_ALL", "C").env("HOME", folder);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
        command
    }

    fn call(&self, folder: &Path, args: &[&str]) -> Result<String, Error> {
        Self::run(self.command(folder).args(args), args, &[])
    }

    fn run(command: &mut Command, args: &[&str], input: &[u8]) -> Result<String, Error> {
        let bytes = Self::bytes(command, args, input)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    fn bytes(command: &mut Command, args: &[&str], input: &[u8]) -> Result<Vec<u8>, Error> {
        let ended = Self::output(command, input)?;
        if ended.status.success() { Ok(ended.stdout) } else { Err(Self::failed(args, &ended.stderr)) }
    }

    fn failed(args: &[&str], said: &[u8]) -> Error {
        Error::Git { command: args.join(" "), said: String::from_utf8_lossy(said).trim().to_owned() }
    }

    fn output(command: &mut Command, input: &[u8]) -> Result<Output, Error> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // What git does not read is no loss.
            let _ = stdin.write_all(input);
        }
        Ok(child.wait_with_output()?)
    }

    /// Makes an empty bare repository.
    pub(crate) fn init(&self, folder: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(folder)?;
        self.call(folder, &["init", "--quiet", "--bare", "--template=", "--initial-branch=main"])?;
        let mut config = std::fs::OpenOptions::new().append(true).open(folder.join("config"))?;
        // Commits are fetched by their sha, and in part.
        config.write_all(b"[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n[gc]\n\tauto = 0\n")?;
        Ok(())
    }

    /// The commit of a name; `None` where there is none.
    pub(crate) fn resolve(&self, folder: &Path, name: &str) -> Option<String> {
        if name.is_empty() || name.starts_with('-') || name.contains("..") {
            return None;
        }
        let spec = format!("{name}^{{commit}}");
        self.call(folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &spec]).ok()
    }

    /// The tip of a branch.
    pub(crate) fn tip(&self, folder: &Path, branch: &str) -> Option<String> {
        self.resolve(folder, &format!("refs/heads/{branch}"))
    }

    /// Branches and their tips.
    pub(crate) fn branches(&self, folder: &Path) -> Result<Vec<(String, String)>, Error> {
        let said = self.call(folder, &["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"])?;
        let branch = |line: &str| {
            let (sha, name) = line.split_once(' ')?;
            Some((name.strip_prefix("refs/heads/")?.to_owned(), sha.to_owned()))
        };
        Ok(said.lines().filter_map(branch).collect())
    }

    /// Points a ref at a commit.
    pub(crate) fn point(&self, folder: &Path, name: &str, sha: &str) -> Result<(), Error> {
        self.call(folder, &["update-ref", name, sha]).map(drop)
    }

    /// Adds a commit to a branch, after another one where that is given. `None` removes a file.
    pub(crate) fn commit(
        &self,
        folder: &Path,
        branch: &str,
        after: Option<&str>,
        commit: &New<'_>,
    ) -> Result<String, Error> {
        let mut stream = format!("commit refs/heads/{branch}\nmark :1\n").into_bytes();
        let person = format!("{} <{}@localhost> {} +0000\n", commit.by, commit.by, commit.now_ms / 1000);
        stream.extend(format!("author {person}committer {person}").into_bytes());
        data(&mut stream, commit.message);
        if let Some(after) = after {
            stream.extend(format!("from {after}\n").into_bytes());
        }
        for (name, text) in commit.files {
            if name.is_empty() || name.starts_with('/') {
                return Err(Error::Refused(format!("{name:?} is not the name of a file in a repository")));
            }
            let name = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let Some(text) = text else {
                stream.extend(format!("D \"{name}\"\n").into_bytes());
                continue;
            };
            let mode = if text.starts_with("#!") { "100755" } else { "100644" };
            stream.extend(format!("M {mode} inline \"{name}\"\n").into_bytes());
            data(&mut stream, text);
        }
        stream.extend_from_slice(b"get-mark :1\ndone\n");
        let args = ["fast-import", "--quiet", "--done", "--date-format=raw"];
        Self::run(self.command(folder).args(args), &args, &stream)
    }

    /// A call that writes this person and time into commits.
    fn signed(&self, folder: &Path, by: &str, now_ms: u64) -> Command {
        let mut command = self.command(folder);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), by).env(format!("GIT_{who}_EMAIL"), format!("{by}@localhost"));
            command.env(format!("GIT_{who}_DATE"), format!("{} +0000", now_ms / 1000));
        }
        command
    }

    /// Merges a commit into a branch with a commit of its own.
    pub(crate) fn merge(
        &self,
        folder: &Path,
        branch: &str,
        head: &str,
        message: &str,
        by: &str,
        now_ms: u64,
    ) -> Result<String, Error> {
        let base = self.tip(folder, branch).ok_or_else(|| Error::Unknown(format!("branch {branch}")))?;
        let said = self.call(folder, &["merge-tree", "--write-tree", &base, head])?;
        let tree = said.lines().next().unwrap_or_default();
        let args = ["commit-tree", tree, "-p", &base, "-p", head, "-F", "-"];
        let sha = Self::run(self.signed(folder, by, now_ms).args(args), &args, message.as_bytes())?;
        self.point(folder, &format!("refs/heads/{branch}"), &sha)?;
        Ok(sha)
    }

    /// Makes an empty bare repository that shares its objects with another one, as forks do.
    pub(crate) fn init_fork(&self, folder: &Path, parent: &Path) -> Result<(), Error> {
        self.init(folder)?;
        let objects = folder.join("objects");
        std::fs::remove_dir_all(&objects)?;
        std::os::unix::fs::symlink(parent.join("objects"), objects)?;
        for (name, sha) in self.branches(parent)? {
            self.point(folder, &format!("refs/heads/{name}"), &sha)?;
        }
        Ok(())
    }

    /// The best common ancestor; `None` where the histories have nothing in common.
    pub(crate) fn merge_base(&self, folder: &Path, a: &str, b: &str) -> Option<String> {
        self.call(folder, &["merge-base", a, b]).ok().filter(|sha| !sha.is_empty())
    }

    /// How many commits are only in the first, and only in the second.
    pub(crate) fn apart(&self, folder: &Path, a: &str, b: &str) -> Result<(u64, u64), Error> {
        let said = self.call(folder, &["rev-list", "--left-right", "--count", &format!("{a}...{b}")])?;
        let mut counts = said.split_whitespace().map(|count| count.parse().unwrap_or(0));
        Ok((counts.next().unwrap_or(0), counts.next().unwrap_or(0)))
    }

    /// The commits that are in the second and not in the first, oldest first.
    pub(crate) fn between(&self, folder: &Path, a: &str, b: &str) -> Result<Vec<Commit>, Error> {
        let said = self.call(folder, &["rev-list", "--reverse", "--topo-order", &format!("{a}..{b}")])?;
        said.lines().map(|sha| self.look(folder, sha)).collect()
    }

    /// A commit.
    pub(crate) fn look(&self, folder: &Path, sha: &str) -> Result<Commit, Error> {
        let format = "--format=%H%n%T%n%P%n%an%n%ae%n%at%n%B";
        let said = self.call(folder, &["show", "--no-patch", "--no-show-signature", format, sha])?;
        let mut parts = said.splitn(7, '\n');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        Ok(Commit {
            sha: next(),
            tree: next(),
            parents: next().split_whitespace().map(str::to_owned).collect(),
            author: next(),
            email: next(),
            date_ms: next().parse::<u64>().unwrap_or(0) * 1000,
            message: next().trim_end().to_owned(),
        })
    }

    /// The files that differ between two commits.
    pub(crate) fn changed(&self, folder: &Path, a: &str, b: &str) -> Result<Vec<Changed>, Error> {
        let raw = self.call(folder, &["diff-tree", "-r", "-z", "-M", "--no-abbrev", "--raw", "--numstat", a, b])?;
        let mut parts = raw.split('\0').filter(|part| !part.is_empty()).peekable();
        let mut all: Vec<Changed> = Vec::new();
        while let Some(head) = parts.next() {
            if let Some(head) = head.strip_prefix(':') {
                let fields: Vec<&str> = head.split_whitespace().collect();
                let letter = fields.get(4).copied().unwrap_or("M");
                let first = parts.next().unwrap_or_default().to_owned();
                let (status, old_name, name) = match letter.chars().next() {
                    Some('A') => ("added", None, first),
                    Some('D') => ("removed", None, first),
                    Some('R') => ("renamed", Some(first), parts.next().unwrap_or_default().to_owned()),
                    _ => ("modified", None, first),
                };
                let side = if status == "removed" { 2 } else { 3 };
                let blob = fields.get(side).map(|&sha| sha.to_owned());
                all.push(Changed { name, old_name, status, additions: 0, deletions: 0, blob });
            } else {
                // `<added> TAB <deleted> TAB <name>`; of a renamed file the names follow as two parts.
                let mut fields = head.splitn(3, '\t');
                let mut count = || fields.next().and_then(|count| count.parse().ok()).unwrap_or(0);
                let (additions, deletions) = (count(), count());
                let mut name = fields.next().unwrap_or_default().to_owned();
                if name.is_empty() {
                    parts.next();
                    parts.next().unwrap_or_default().clone_into(&mut name);
                }
                if let Some(file) = all.iter_mut().find(|file| file.name == name) {
                    (file.additions, file.deletions) = (additions, deletions);
                }
            }
        }
        Ok(all)
    }

    /// What stands at a path of a commit: the file or folder itself, or what is in it.
    pub(crate) fn list(&self, folder: &Path, commit: &str, path: &str, inside: bool) -> Result<Vec<Entry>, Error> {
        let path = path.trim_matches('/');
        let mut args = vec!["ls-tree", "-z", "--long", commit];
        let spec = if inside && !path.is_empty() { format!("{path}/") } else { path.to_owned() };
        if !spec.is_empty() {
            args.extend(["--", &spec]);
        }
        let said = self.call(folder, &args)?;
        let entry = |line: &str| {
            let (head, path) = line.split_once('\t')?;
            let mut fields = head.split_whitespace().map(str::to_owned);
            let (mode, kind, sha) = (fields.next()?, fields.next()?, fields.next()?);
            let size = fields.next()?.parse().unwrap_or(0);
            Some(Entry { mode, kind, sha, size, path: path.to_owned() })
        };
        Ok(said.split('\0').filter_map(entry).collect())
    }

    /// The bytes of a blob.
    pub(crate) fn blob(&self, folder: &Path, sha: &str) -> Result<Vec<u8>, Error> {
        let args = ["cat-file", "blob", sha];
        Self::bytes(self.command(folder).args(args), &args, &[])
    }

    /// What a service of git over HTTP answers.
    pub(crate) fn serve(
        &self,
        folder: &Path,
        args: &[&str],
        protocol: Option<&str>,
        input: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", &self.path).env("LC_ALL", "C").env("HOME", folder);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        if let Some(protocol) = protocol {
            command.env("GIT_PROTOCOL", protocol);
        }
        command.args(args).arg(folder);
        match Self::output(&mut command, input)? {
            // What it cannot do it says on its output, in the protocol, and fails.
            ended if ended.status.success() || !ended.stdout.is_empty() => Ok(ended.stdout),
            ended => Err(Self::failed(args, &ended.stderr)),
        }
    }
}

/// When a commit was made, in words.
pub(crate) fn date(commit: &Commit) -> String {
    written(commit.date_ms)
}
