//! What is meant by a word of the command line.

use std::str::FromStr;

use domain::ids::RunId;
use domain::ports::desk::RunRow;
use domain::ports::{Desk as _, StoreError};
use store::SqlStore;

use crate::failure::Failure;

/// A run or a pull request, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A run by its id.
    Run(RunId),
    /// A pull request by the number of its repository.
    Pull(u64, u64),
    /// A pull request by the name of its repository.
    At(String, u64),
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(run) = text.strip_prefix("run:").unwrap_or(text).parse() {
            return Ok(Self::Run(run));
        }
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| i64::try_from(*number).is_ok());
        if let Some((repo, pull)) = text.strip_prefix("pull:").and_then(|rest| rest.split_once(':'))
            && let (Some(repo), Some(pull)) = (number(repo), number(pull))
        {
            return Ok(Self::Pull(repo, pull));
        }
        match text.rsplit_once('#').and_then(|(name, pull)| Some((name, number(pull)?))) {
            Some((name, pull))
                if name.split_once('/').is_some_and(|(owner, name)| !(owner.is_empty() || name.is_empty())) =>
            {
                Ok(Self::At(name.to_owned(), pull))
            }
            _ => {
                Err("expected a run such as 20261129T202850Z-8d10c1b5, or a pull request such as owner/name#12"
                    .to_owned())
            }
        }
    }
}

/// What is meant: a run, and the pull request that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct What {
    /// The number of the repository.
    pub(super) repo: u64,
    /// The number of the pull request.
    pub(super) number: u64,
    /// The run; that of a pull request is the one that goes on, or else the newest.
    pub(super) run: Option<RunRow>,
}

impl What {
    /// The key of the pull request.
    pub(super) fn pull(&self) -> String {
        format!("pull:{}:{}", self.repo, self.number)
    }

    /// What may be said of them.
    pub(super) fn targets(&self) -> Vec<String> {
        let mut targets =
            vec![format!("reply:{}:{}", self.repo, self.number), format!("labels:{}:{}", self.repo, self.number)];
        if let Some(run) = &self.run {
            targets.push(format!("comment:{}:{}:{}", self.repo, self.number, run.suite));
            targets.push(format!("check:{}", run.id));
            targets.push(format!("notify:{}", run.id));
        }
        targets
    }
}

/// The key of a run.
pub(super) fn key(run: &RunRow) -> String {
    format!("run:{}", run.id)
}

impl Named {
    /// Looks it up.
    ///
    /// # Errors
    /// It is not there, or more than one is.
    pub(super) async fn find(&self, store: &SqlStore) -> Result<What, Failure> {
        let failed = |why: StoreError| Failure::Other(why.into());
        let (repo, number) = match self {
            Self::Run(id) => {
                let run = store.run(id).await.map_err(failed)?;
                let run = run.ok_or_else(|| Failure::Usage(format!("the store has no run {id}")))?;
                return Ok(What { repo: run.repo, number: run.number, run: Some(run) });
            }
            Self::Pull(repo, number) => (*repo, *number),
            Self::At(name, number) => match store.repos_named(name).await.map_err(failed)?.as_slice() {
                [repo] => (*repo, *number),
                [] => return Err(Failure::Usage(format!("the store has seen no repository {name}"))),
                several => {
                    let all: Vec<String> = several.iter().map(|repo| format!("pull:{repo}:{number}")).collect();
                    return Err(Failure::Usage(format!("several were called {name}: {}", all.join(", "))));
                }
            },
        };
        let runs = store.runs(repo, number).await.map_err(failed)?;
        let run = runs.iter().find(|run| run.active).or_else(|| runs.first()).cloned();
        let what = What { repo, number, run };
        let known = domain::ports::Store::read(store, &what.pull()).await.map_err(failed)?.is_some();
        if what.run.is_none() && !known {
            return Err(Failure::Usage(format!("the store knows nothing of {}", what.pull())));
        }
        Ok(what)
    }
}
