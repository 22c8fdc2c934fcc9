//! Waiting for a supervisor, which may never answer: a step runs as the same user and can stop it.

use std::io::Read as _;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::procfs::{self, Process};
use crate::supervisor::Report;

/// How long a supervisor may take to clear up and answer after the limit of its step.
const AFTER_LIMIT: Duration = Duration::from_secs(10);
/// The same after it was asked to stop.
const AFTER_STOP: Duration = Duration::from_secs(5);
/// How long the death of a killed one is waited for.
const DEATH: Duration = Duration::from_secs(5);

enum News {
    /// All that it wrote, and how it ended.
    Gone(Vec<u8>, String),
    /// It was asked to stop.
    Asked,
}

/// What keeps a supervisor alive: it ends its step when this is dropped.
#[derive(Debug)]
pub(super) struct Lifeline {
    stdin: Option<ChildStdin>,
    asked: SyncSender<News>,
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Where nobody waits any more, it has answered.
        drop(self.asked.send(News::Asked));
    }
}

/// A supervisor that was given its order.
pub(super) struct Contact {
    process: Option<Process>,
    news: Receiver<News>,
}

impl Contact {
    /// Begins to listen.
    pub(super) fn new(mut child: Child, stdin: ChildStdin, stdout: ChildStdout) -> (Self, Lifeline) {
        // It is not waited for yet, so that the pid is its own.
        let process = i32::try_from(child.id()).ok().and_then(procfs::process);
        // Room for all that is ever sent, so that no sender waits.
        let (told, news) = sync_channel(2);
        let asked = told.clone();
        // Of its own, so that nobody has to wait for a pipe whose other end somebody holds.
        thread::spawn(move || {
            let mut answer = Vec::new();
            drop(stdout.take(1 << 20).read_to_end(&mut answer));
            let how = child.wait().map_or_else(|why| why.to_string(), |status| status.to_string());
            drop(told.send(News::Gone(answer, how)));
        });
        (Self { process, news }, Lifeline { stdin: Some(stdin), asked })
    }

    /// Its report. `Err` where there is none; then nothing of the step, which ran in `folder`, lives any more.
    pub(super) fn report(&self, limit: Duration, folder: Option<&str>) -> Result<Report, String> {
        let mut news = self.news.recv_timeout(limit.saturating_add(AFTER_LIMIT));
        if matches!(news, Ok(News::Asked)) {
            news = self.news.recv_timeout(AFTER_STOP);
        }
        let why = match news {
            Ok(News::Gone(answer, how)) => match serde_json::from_slice(&answer) {
                Ok(report) => return Ok(report),
                Err(_) => format!("its supervisor ended without a report ({how})"),
            },
            Ok(News::Asked) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.kill();
                "its supervisor did not answer and was killed".to_owned()
            }
        };
        if let Some(folder) = folder {
            procfs::kill_strays(folder);
        }
        Err(why)
    }

    /// What it supervises first: while it lives, stopped or not, all of that is below it.
    fn kill(&self) {
        let Some(process) = self.process else { return };
        for _ in 0..100 {
            let found = procfs::descendants(process.pid);
            // A pid whose process is gone may be another's by now.
            if found.is_empty() || procfs::process(process.pid).is_none_or(|now| now.started != process.started) {
                break;
            }
            found.iter().for_each(procfs::kill);
        }
        procfs::kill(&process);
        while matches!(self.news.recv_timeout(DEATH), Ok(News::Asked)) {}
    }
}
