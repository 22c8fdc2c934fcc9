//! Everything that changes something goes through one bounded queue. A writer takes what waits, runs it in one
//! transaction, each operation within a savepoint of its own, commits once, and answers after that: what was answered is
//! on stable storage.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use domain::ports::StoreError;
use sqlx::{Acquire, Connection};
use sqlx::{AnyConnection, AnyPool};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::checkpoint::Gauge;
use crate::dialect::Dialect;
use crate::fault::Fault;

/// How often an operation is repeated that the database chose to resolve a conflict.
const TRIES: u32 = 8;
/// How many operations may wait in the queue; who comes later waits outside.
pub(crate) const QUEUE: usize = 1024;

/// What came of an operation.
pub(crate) enum Outcome<T> {
    /// It is done and stays.
    Keep(T),
    /// It is refused, and what it did until then is undone.
    Undo(T),
}

/// An operation that changes something. It may be run more than once; only the last run counts.
pub(crate) trait Work: Send + Sync + 'static {
    /// What it is called in errors.
    const NAME: &'static str;
    /// What it answers.
    type Out: Send + 'static;

    /// Does it, within a transaction.
    fn run(&self, conn: &mut AnyConnection) -> impl Future<Output = Result<Outcome<Self::Out>, Fault>> + Send;

    /// About how many bytes it adds to the log.
    fn weight(&self) -> u64 {
        4 * 4096
    }
}

/// What waits in the queue.
pub(crate) enum Message {
    /// An operation.
    Job(Box<dyn Job>),
    /// Nothing more is taken; what waits is done.
    Close,
}

/// A [`Work`] with the way back to whoever waits for it.
pub(crate) trait Job: Send {
    /// `false` where what it did is to be undone.
    fn run<'a>(
        &'a mut self,
        conn: &'a mut AnyConnection,
    ) -> Pin<Box<dyn Future<Output = Result<bool, Fault>> + Send + 'a>>;
    /// Its answer will be this error.
    fn fail(&mut self, fault: &Fault);
    /// See [`Work::weight`].
    fn weight(&self) -> u64;
    /// Answers. Whoever no longer waits is not told; what was done stays done.
    fn answer(self: Box<Self>);
}

struct Pending<W: Work> {
    work: W,
    result: Result<W::Out, StoreError>,
    to: oneshot::Sender<Result<W::Out, StoreError>>,
}

impl<W: Work> Job for Pending<W> {
    fn run<'a>(
        &'a mut self,
        conn: &'a mut AnyConnection,
    ) -> Pin<Box<dyn Future<Output = Result<bool, Fault>> + Send + 'a>> {
        Box::pin(async move {
            let (out, keep) = match self.work.run(conn).await? {
                Outcome::Keep(out) => (out, true),
                Outcome::Undo(out) => (out, false),
            };
            self.result = Ok(out);
            Ok(keep)
        })
    }

    fn fail(&mut self, fault: &Fault) {
        self.result = Err(fault.of(W::NAME));
    }

    fn weight(&self) -> u64 {
        self.work.weight()
    }

    fn answer(self: Box<Self>) {
        let _ = self.to.send(self.result);
    }
}

/// Puts an operation into the queue and waits for its answer.
pub(crate) async fn ask<W: Work>(queue: &mpsc::Sender<Message>, work: W) -> Result<W::Out, StoreError> {
    let closed = || Fault::Data("the store is closed").of(W::NAME);
    let (to, answer) = oneshot::channel();
    let pending = Pending { work, result: Err(closed()), to };
    queue.send(Message::Job(Box::new(pending))).await.map_err(|_| closed())?;
    answer.await.unwrap_or_else(|_| Err(closed()))
}

/// A writer.
pub(crate) struct Writer {
    /// Its connections.
    pub(crate) pool: AnyPool,
    /// The engine.
    pub(crate) dialect: Dialect,
    /// How many operations share a transaction at most.
    pub(crate) group: usize,
    /// Told how much was written; `None` where nobody needs to know.
    pub(crate) gauge: Option<Gauge>,
}

impl Writer {
    /// Works until the queue is closed and empty. Several writers may share a queue.
    pub(crate) async fn serve(self, queue: Arc<Mutex<mpsc::Receiver<Message>>>) {
        let mut messages = Vec::new();
        loop {
            let mut jobs = Vec::new();
            {
                let mut queue = queue.lock().await;
                if queue.recv_many(&mut messages, self.group).await == 0 {
                    return;
                }
                for message in messages.drain(..) {
                    match message {
                        Message::Job(job) => jobs.push(job),
                        Message::Close => queue.close(),
                    }
                }
            }
            if !jobs.is_empty() {
                self.group(jobs).await;
            }
        }
    }

    async fn group(&self, mut jobs: Vec<Box<dyn Job>>) {
        let weight = jobs.iter().map(|job| job.weight()).sum();
        {
            let _pass = match &self.gauge {
                Some(gauge) => Some(gauge.pass().await),
                None => None,
            };
            match jobs.as_mut_slice() {
                [job] => self.alone(job.as_mut()).await,
                several => match self.together(several).await {
                    Ok(true) => {}
                    // One of them failed, which may have undone those before it: each gets a transaction of its own.
                    Ok(false) => {
                        for job in several {
                            self.alone(job.as_mut()).await;
                        }
                    }
                    Err(fault) => several.iter_mut().for_each(|job| job.fail(&fault)),
                },
            }
        }
        for job in jobs {
            job.answer();
        }
        if let Some(gauge) = &self.gauge {
            gauge.wrote(weight);
        }
    }

    /// `false` where an operation failed: nothing was done then.
    async fn together(&self, jobs: &mut [Box<dyn Job>]) -> Result<bool, Fault> {
        let mut conn = self.pool.acquire().await?;
        let (ran, sound) = grouped(&mut conn, self.dialect, jobs).await;
        if !sound {
            let _ = conn.close().await;
        }
        ran
    }

    async fn alone(&self, job: &mut dyn Job) {
        for attempt in 1..=TRIES {
            match self.once(job).await {
                Ok(()) => return,
                Err(fault) if fault.passes() && attempt < TRIES => {}
                Err(fault) => return job.fail(&fault),
            }
        }
    }

    async fn once(&self, job: &mut dyn Job) -> Result<(), Fault> {
        let mut conn = self.pool.acquire().await?;
        let (ran, sound) = single(&mut conn, self.dialect, job).await;
        if !sound {
            let _ = conn.close().await;
        }
        ran
    }
}

/// A transaction of several, and whether the connection is to be used again. Where `SQLite` has undone everything itself, as
/// on a full disk, the driver still counts the transaction as open and could never begin another one.
async fn grouped(conn: &mut AnyConnection, dialect: Dialect, jobs: &mut [Box<dyn Job>]) -> (Result<bool, Fault>, bool) {
    let mut tx = match conn.begin_with(dialect.begin()).await {
        Ok(tx) => tx,
        Err(error) => return (Err(error.into()), false),
    };
    for job in jobs {
        let mut savepoint = match tx.begin().await {
            Ok(savepoint) => savepoint,
            Err(error) => return (Err(error.into()), false),
        };
        let ended = match job.run(&mut savepoint).await {
            Ok(true) => savepoint.commit().await,
            Ok(false) => savepoint.rollback().await,
            Err(_) => {
                let undone = savepoint.rollback().await.is_ok() && tx.rollback().await.is_ok();
                return (Ok(false), undone);
            }
        };
        if let Err(error) = ended {
            return (Err(error.into()), false);
        }
    }
    match tx.commit().await {
        Ok(()) => (Ok(true), true),
        Err(error) => (Err(error.into()), false),
    }
}

/// A transaction of one; see [`grouped`].
async fn single(conn: &mut AnyConnection, dialect: Dialect, job: &mut dyn Job) -> (Result<(), Fault>, bool) {
    let mut tx = match conn.begin_with(dialect.begin()).await {
        Ok(tx) => tx,
        Err(error) => return (Err(error.into()), false),
    };
    let ended = match job.run(&mut tx).await {
        Ok(true) => tx.commit().await,
        Ok(false) => tx.rollback().await,
        Err(fault) => {
            let undone = tx.rollback().await.is_ok();
            return (Err(fault), undone);
        }
    };
    match ended {
        Ok(()) => (Ok(()), true),
        Err(error) => (Err(error.into()), false),
    }
}
