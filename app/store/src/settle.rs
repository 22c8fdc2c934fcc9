//! One transaction of a service. Rows are locked in one order by everybody: the delivery, subjects by key, runs by id,
//! what they have used by run, what is said by target, repositories by number.

use domain::ports::desk::{RunRow, Settle, Settled};
use domain::ports::{Committed, Subject, Write};
use sqlx::AnyConnection;

use crate::fault::Fault;
use crate::writer::{Outcome, Work};
use crate::{delivery, effect, outbox, register, run, spend, subject};

pub(crate) struct Settling(pub(crate) Settle);

/// Something that happens to a subject, in the order in which it happens to the same one.
enum Move<'a> {
    Create(&'a Subject),
    Write(&'a Write),
    Said(&'a str, u64),
}

impl Move<'_> {
    fn key(&self) -> &str {
        match self {
            Self::Create(subject) => &subject.key,
            Self::Write(write) => &write.subject,
            Self::Said(key, _) => key,
        }
    }
}

impl Work for Settling {
    const NAME: &'static str = "settle";
    type Out = Settled;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<Settled>, Fault> {
        Ok(match settle(conn, &self.0).await? {
            Settled::Done => Outcome::Keep(Settled::Done),
            refused @ (Settled::Outdated | Settled::Busy | Settled::LookTaken) => Outcome::Undo(refused),
        })
    }
}

async fn settle(conn: &mut AnyConnection, settle: &Settle) -> Result<Settled, Fault> {
    if let Some((guid, handler, outcome)) = &settle.delivery
        && !delivery::handle(conn, guid, *handler, outcome).await?
    {
        return Ok(Settled::Outdated);
    }
    match subjects(conn, settle).await? {
        Settled::Done => {}
        refused @ (Settled::Outdated | Settled::Busy | Settled::LookTaken) => return Ok(refused),
    }
    if !runs(conn, settle).await? {
        return Ok(Settled::Busy);
    }
    let mut used: Vec<_> = settle.used.iter().collect();
    used.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (run, used) in used {
        spend::used(conn, run, used).await?;
    }
    let mut wants: Vec<_> = settle.wants.iter().collect();
    wants.sort_by(|a, b| a.target.cmp(&b.target));
    for want in wants {
        outbox::want(conn, want).await?;
    }
    let mut repos: Vec<_> = settle.repos.iter().collect();
    repos.sort_by_key(|repo| repo.id);
    for repo in repos {
        register::see(conn, repo).await?;
    }
    for line in &settle.audit {
        register::note(conn, line).await?;
    }
    Ok(Settled::Done)
}

async fn subjects(conn: &mut AnyConnection, settle: &Settle) -> Result<Settled, Fault> {
    let mut moves: Vec<Move<'_>> = settle.create.iter().map(Move::Create).collect();
    moves.extend(settle.writes.iter().map(Move::Write));
    moves.extend(settle.said.iter().map(|(key, version)| Move::Said(key, *version)));
    moves.sort_by(|a, b| a.key().cmp(b.key()));
    for one in moves {
        match one {
            Move::Create(subject) => {
                if !subject::create(conn, subject, settle.at).await? {
                    return Ok(Settled::Outdated);
                }
            }
            Move::Write(write) => match effect::write(conn, write).await? {
                Committed::Done(_) => {}
                Committed::Outdated => return Ok(Settled::Outdated),
                Committed::LookTaken => return Ok(Settled::LookTaken),
            },
            Move::Said(key, version) => subject::said(conn, key, version, settle.at).await?,
        }
    }
    Ok(Settled::Done)
}

/// `false` where a run may not begin. One that is over makes room for one that begins in the same transaction.
async fn runs(conn: &mut AnyConnection, settle: &Settle) -> Result<bool, Fault> {
    let mut over: Vec<_> = settle.over.iter().collect();
    over.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    let mut begin: Vec<&RunRow> = settle.begin.iter().collect();
    begin.sort_by(|a, b| a.id.cmp(&b.id));
    let (at_once, before): (Vec<_>, Vec<_>) =
        over.into_iter().partition(|(id, ..)| begin.iter().any(|run| run.id == *id));
    for (id, outcome, evidence) in before {
        run::over(conn, id, outcome, evidence.as_ref(), settle.at).await?;
    }
    for run in begin {
        if !run::begin(conn, run).await? {
            return Ok(false);
        }
    }
    for (id, ledger) in &settle.planned {
        run::planned(conn, id, ledger).await?;
    }
    for (id, outcome, evidence) in at_once {
        run::over(conn, id, outcome, evidence.as_ref(), settle.at).await?;
    }
    Ok(true)
}
