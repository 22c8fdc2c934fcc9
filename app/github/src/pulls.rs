//! Pull requests.

use domain::ids::CommitSha;
use domain::ports::forge::{ForgeError, Pull, PullId, Repo};

use crate::asking::{Ask, Hub};
use crate::objects::{Branch, PullRequest};
use crate::verdict;
use crate::wire::Reply;

impl Hub {
    pub(crate) async fn pull(&self, id: &PullId) -> Result<Pull, ForgeError> {
        let ask = Ask::get(&id.repo, format!("/pulls/{}", id.number));
        let mut reply = self.ask(&ask).await?.there()?;
        let mut found = read(&reply)?;
        if base(&found) != Some(id.repo.id) {
            // Another repository has the name now.
            self.whereabouts(&id.repo).await?;
            reply = self.ask(&ask).await?.there()?;
            found = read(&reply)?;
        }
        if base(&found) != Some(id.repo.id) {
            return Err(ForgeError::Gone(format!("pull request {} of repository {}", id.number, id.repo.id)));
        }
        self.pull_of(id, found).ok_or_else(|| verdict::unreadable(&reply))
    }

    fn pull_of(&self, id: &PullId, found: PullRequest) -> Option<Pull> {
        let (head, base) = (found.head?, found.base?);
        if let Some(name) = base.repo.as_ref().and_then(|repo| repo.full_name.as_deref()) {
            self.names.learn(id.repo.id, name);
        }
        let name = self.names.of(&id.repo).unwrap_or_else(|| id.repo.name.clone());
        Some(Pull {
            id: PullId { repo: Repo { name, ..id.repo.clone() }, number: id.number },
            head: sha(&head)?,
            head_repo: head.repo.and_then(|repo| repo.id),
            head_ref: head.name.unwrap_or_default(),
            base: sha(&base)?,
            base_ref: base.name?,
            open: found.state.as_deref() == Some("open"),
            merged: found.merged.unwrap_or(false) || found.merged_at.is_some(),
            draft: found.draft.unwrap_or(false),
        })
    }
}

fn read(reply: &Reply) -> Result<PullRequest, ForgeError> {
    reply.json().ok_or_else(|| verdict::unreadable(reply))
}

fn base(found: &PullRequest) -> Option<u64> {
    found.base.as_ref()?.repo.as_ref()?.id
}

fn sha(branch: &Branch) -> Option<CommitSha> {
    branch.sha.as_deref()?.parse().ok()
}
