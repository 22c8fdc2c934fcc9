//! The simulated forge as the service sees it: calls fail before or after they have done something, and repeating one is
//! fine.

use domain::ids::CommitSha;
use domain::ports::Forge;
use domain::ports::forge::{
    Account, CheckFound, CheckState, CheckWanted, CommentFound, CommentWanted, ForgeError, GitAccess, LoggedDelivery,
    Permission, Pull, PullId, Reaction, Repo, SentDelivery,
};
use domain::time::Ms;

use super::habit::Habit;
use super::hub::{Comment, Hub, Town};

#[derive(Clone, Debug)]
pub(super) struct SimForge(pub(super) Town);

fn not_here<T>() -> Result<T, ForgeError> {
    Err(ForgeError::Refused("the simulated forge does not do this".to_owned()))
}

fn first_line(body: &str) -> &str {
    body.lines().next().unwrap_or_default()
}

impl SimForge {
    /// One call: `effect` happens, or does not, and the answer arrives, or does not.
    async fn call<T>(
        &self,
        what: &str,
        effect: impl FnOnce(&mut Hub) -> Result<T, ForgeError> + Send,
    ) -> Result<T, ForgeError> {
        self.0.world.point(&format!("before {what}")).await;
        let now = self.0.now();
        let answer = {
            let mut hub = self.0.hub();
            let (fails, after) = (hub.flaky, hub.chance.happens(500));
            let fails = hub.chance.happens(fails);
            let away = || ForgeError::Unavailable("502".to_owned());
            if !hub.installed {
                Err(ForgeError::Forbidden("the app is not installed".to_owned()))
            } else if now < hub.limited {
                Err(ForgeError::Limited { until: hub.limited, why: "slow down".to_owned() })
            } else if fails && !after {
                Err(away())
            } else {
                let done = effect(&mut hub);
                if fails { Err(away()) } else { done }
            }
        };
        self.0.world.point(&format!("after {what}")).await;
        answer
    }
}

fn comment(hub: &mut Hub, wanted: &CommentWanted, known: Option<u64>, recreate: bool, blindly: bool) -> CommentFound {
    let number = wanted.pull.number;
    let begins = |comment: &&Comment| comment.pull == number && first_line(&comment.body) == wanted.marker;
    let foreign = hub.comments.iter().filter(begins).find(|comment| !comment.ours).map(|comment| comment.id);
    let mine: Vec<u64> = hub.comments.iter().filter(begins).filter(|comment| comment.ours).map(|of| of.id).collect();
    let there = known.filter(|known| hub.comments.iter().any(|comment| comment.id == *known));
    let found = there.or(if blindly { None } else { mine.first().copied() });
    let gone = known.is_some() && there.is_none();
    let id = match found {
        Some(id) => id,
        None if gone && !recreate => return CommentFound { foreign, ..CommentFound::default() },
        None => {
            let id = hub.number();
            hub.comments.push(Comment { id, pull: number, ours: true, body: String::new() });
            id
        }
    };
    if !blindly {
        hub.comments.retain(|comment| comment.id == id || !mine.contains(&comment.id));
    }
    if let Some(comment) = hub.comments.iter_mut().find(|comment| comment.id == id) {
        comment.body.clone_from(&wanted.body);
    }
    CommentFound { id: Some(id), url: None, foreign, recreated: gone && found.is_none() }
}

fn check(hub: &mut Hub, wanted: &CheckWanted, known: Option<u64>, blindly: bool) -> u64 {
    let is = |of: &CheckWanted| (&of.head, &of.external, &of.name) == (&wanted.head, &wanted.external, &wanted.name);
    let found = hub.checks.iter().find(|(id, of)| Some(*id) == known || is(of)).map(|(id, _)| *id);
    let id = match found.filter(|_| !blindly) {
        Some(id) => id,
        None => hub.number(),
    };
    hub.checks.retain(|(known, _)| *known != id);
    hub.checks.push((id, wanted.clone()));
    id
}

impl Forge for SimForge {
    async fn pull(&self, id: &PullId) -> Result<Pull, ForgeError> {
        let drafts = self.0.habit == Habit::MeasuresDrafts;
        let number = id.number;
        self.call("a look", move |hub| {
            let mut pull = hub.pulls.get(&number).cloned().ok_or_else(|| ForgeError::Gone("404".to_owned()))?;
            pull.draft &= !drafts;
            Ok(pull)
        })
        .await
    }

    async fn permission(&self, _: &Repo, who: &Account) -> Result<Permission, ForgeError> {
        self.call("a question of rights", |hub| Ok(hub.permission(who))).await
    }

    async fn comment(
        &self,
        wanted: &CommentWanted,
        known: Option<u64>,
        recreate: bool,
    ) -> Result<CommentFound, ForgeError> {
        let blindly = self.0.habit == Habit::CommentsBlindly;
        let what = format!("a comment {}", wanted.marker);
        self.call(&what, move |hub| Ok(comment(hub, wanted, known, recreate, blindly))).await
    }

    async fn react(&self, _: &Repo, comment: u64, with: Reaction) -> Result<(), ForgeError> {
        self.call("a reaction", move |hub| {
            hub.reactions.insert((comment, with));
            Ok(())
        })
        .await
    }

    async fn check(&self, wanted: &CheckWanted, known: Option<u64>) -> Result<u64, ForgeError> {
        let blindly = self.0.habit == Habit::ChecksBlindly;
        self.call("a check", move |hub| Ok(check(hub, wanted, known, blindly))).await
    }

    async fn checks(&self, _: &Repo, head: &CommitSha, names: &[String]) -> Result<Vec<CheckFound>, ForgeError> {
        self.call("a look at checks", |hub| {
            let state = hub.needed.get(head).copied().unwrap_or(CheckState::Missing);
            Ok(names.iter().map(|name| CheckFound { name: name.clone(), state }).collect())
        })
        .await
    }

    async fn minimise(&self, _: &Repo, _: u64) -> Result<(), ForgeError> {
        self.call("a folding", |_| Ok(())).await
    }

    async fn delete(&self, _: &Repo, comment: u64) -> Result<(), ForgeError> {
        self.call("a removal", move |hub| {
            hub.comments.retain(|known| known.id != comment || !known.ours);
            Ok(())
        })
        .await
    }

    async fn labels(&self, _: &PullId, _: &[String], _: &[String]) -> Result<(), ForgeError> {
        not_here()
    }

    async fn file(&self, _: &Repo, _: &str, _: Option<&CommitSha>) -> Result<Option<Vec<u8>>, ForgeError> {
        not_here()
    }

    async fn git(&self, _: &Repo) -> Result<GitAccess, ForgeError> {
        not_here()
    }

    async fn deliveries(&self, _: Ms) -> Result<Vec<LoggedDelivery>, ForgeError> {
        Ok(Vec::new())
    }

    async fn delivery(&self, _: u64) -> Result<SentDelivery, ForgeError> {
        not_here()
    }
}
