//! One call of git.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::GitError;
use super::error::plain;

/// What every call says before its own arguments: nothing that a repository could set is taken from it, nothing is
/// executed, and only what [`super::Source`] allows is connected to.
const FIXED: &[&str] = &[
    "--no-pager",
    "--no-replace-objects",
    "--literal-pathspecs",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "core.symlinks=false",
    "-c",
    "core.protectHFS=true",
    "-c",
    "core.protectNTFS=true",
    "-c",
    "core.askPass=/bin/false",
    "-c",
    "credential.helper=",
    "-c",
    "diff.external=",
    "-c",
    "protocol.allow=never",
    "-c",
    "protocol.file.allow=always",
    "-c",
    "protocol.https.allow=always",
    "-c",
    "submodule.recurse=false",
    "-c",
    "fetch.recurseSubmodules=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "log.showSignature=false",
];

/// What a pipe may hold without privileges.
const PIPE_BYTES: usize = 1 << 20;
const STDERR_BYTES: usize = 16 * 1024;

/// The program, and what it is called with.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    /// `PATH`.
    pub(crate) path: OsString,
    /// An empty folder of ours.
    pub(crate) home: PathBuf,
    /// The repository.
    pub(crate) dir: PathBuf,
    /// How long a call may take.
    pub(crate) limit: Duration,
    /// How much a call may print.
    pub(crate) most: u64,
    /// What fetching from one place needs besides.
    pub(crate) access: Option<Access>,
}

/// What fetching from one place needs: given to git in its environment, so that it is in no argument list.
#[derive(Clone)]
pub(crate) struct Access {
    /// Whether it is reached without TLS: this machine only.
    pub(crate) plain: bool,
    /// The value of the header `Authorization`.
    pub(crate) authorization: Option<String>,
}

impl std::fmt::Debug for Access {
    /// Never the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Access(plain: {})", self.plain)
    }
}

impl Access {
    fn settings(&self) -> Vec<(&'static str, String)> {
        // A redirect would carry the header to whoever is named there.
        let mut settings = vec![("http.followRedirects", "false".to_owned())];
        if self.plain {
            settings.push(("protocol.http.allow", "always".to_owned()));
        }
        if let Some(value) = &self.authorization {
            settings.push(("http.extraHeader", format!("Authorization: {value}")));
        }
        settings
    }
}

/// A call that ended.
pub(crate) struct Ended<T> {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) answer: T,
}

impl Git {
    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", &self.home)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .args(FIXED)
            .arg("--git-dir")
            .arg(&self.dir)
            .args(args)
            .current_dir(&self.home)
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(access) = &self.access {
            let settings = access.settings();
            command.env("GIT_CONFIG_COUNT", settings.len().to_string());
            for (index, (key, value)) in settings.into_iter().enumerate() {
                command.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
            }
        }
        command
    }

    /// Calls git and lets `read` take its standard output. An error of `read` ends the call.
    pub(crate) fn stream<T>(
        &self,
        args: &[&OsStr],
        input: &[u8],
        read: impl FnOnce(&mut dyn Read) -> Result<T, GitError>,
    ) -> Result<Ended<T>, GitError> {
        let what = args.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut command = self.command(args);
        command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
        let mut child = command.spawn().map_err(|why| GitError::NoGit(why.to_string()))?;
        let group = Pid::from_child(&child);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdout), Some(mut stderr)) = (stdout, stderr) else { return Err(GitError::unexpected(&what)) };
        // Git writes in small pieces; with room for many, neither it nor the reader waits for the other at each.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_BYTES);
        let (done, over) = sync_channel::<()>(0);
        thread::scope(|scope| {
            let watch = scope.spawn(move || {
                // The leader is not reaped before the watch ended, so that nobody else can have the group's id.
                let late = over.recv_timeout(self.limit) == Err(RecvTimeoutError::Timeout);
                if late {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                late
            });
            let feed = stdin.map(|mut stdin| scope.spawn(move || stdin.write_all(input)));
            let listen = scope.spawn(move || {
                let mut said = Vec::new();
                drop((&mut stderr).take(STDERR_BYTES as u64).read_to_end(&mut said));
                drop(std::io::copy(&mut stderr, &mut std::io::sink()));
                said
            });
            let answer = read(&mut stdout);
            if answer.is_err() {
                let _ = kill_process_group(group, Signal::KILL);
            }
            drop(stdout);
            let said = listen.join().unwrap_or_default();
            drop(feed.map(thread::ScopedJoinHandle::join));
            let status = finish(&mut child, group);
            drop(done);
            let late = watch.join().unwrap_or_default();
            if late {
                return Err(GitError::TimeLimit { what, seconds: self.limit.as_secs() });
            }
            let status = status.map_err(|why| GitError::system(format!("git {what}"), &why))?;
            Ok(Ended { code: status.code(), said: plain(&said, 2000), answer: answer? })
        })
    }

    /// Calls git and returns its exit code and what it printed.
    pub(crate) fn call(&self, args: &[&OsStr], input: &[u8]) -> Result<Ended<Vec<u8>>, GitError> {
        let what = args.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.stream(args, input, |stdout| {
            let mut bytes = Vec::new();
            stdout
                .take(self.most + 1)
                .read_to_end(&mut bytes)
                .map_err(|why| GitError::system(format!("reading from git {what}"), &why))?;
            if bytes.len() as u64 > self.most {
                let limit = format!("{} bytes", self.most);
                return Err(GitError::TooLarge { what: format!("the answer of git {what}"), limit });
            }
            Ok(bytes)
        })
    }

    /// Calls git, and anything but success is an error.
    pub(crate) fn run(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let ended = self.call(&args, &[])?;
        ended.success(args.first().map(|name| name.to_string_lossy()).unwrap_or_default().as_ref())
    }
}

impl<T> Ended<T> {
    /// The answer, where git says that all went well.
    pub(crate) fn success(self, what: &str) -> Result<T, GitError> {
        if self.code == Some(0) {
            return Ok(self.answer);
        }
        Err(GitError::Failed { what: what.to_owned(), code: self.code, said: self.said })
    }
}

/// Waits for the leader and kills what it left in its group.
fn finish(child: &mut Child, group: Pid) -> std::io::Result<std::process::ExitStatus> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    // Not reaped yet: while the leader is a zombie, the id of its group belongs to nobody else.
    let _ = waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()
}

/// The folder of a repository as an argument and an error.
pub(crate) fn shown(path: &Path) -> String {
    plain(path.to_string_lossy().as_bytes(), 200)
}
