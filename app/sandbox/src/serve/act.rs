//! What people do, as the control is asked for it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;
use crate::state::State;

/// Texts of files by name; null removes one.
type Files = BTreeMap<String, Option<String>>;

/// What somebody does.
#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Act {
    Comment {
        repo: String,
        number: u64,
        by: String,
        body: String,
    },
    Edit {
        comment: u64,
        by: String,
        body: String,
    },
    Delete {
        comment: u64,
        by: String,
    },
    Minimise {
        comment: u64,
        reason: Option<String>,
    },
    Push {
        repo: String,
        branch: String,
        by: String,
        message: String,
        files: Files,
    },
    Advance {
        repo: String,
        number: u64,
        by: String,
        message: String,
        files: Files,
        #[serde(default)]
        force: bool,
    },
    Force {
        repo: String,
        branch: String,
        commit: String,
        by: String,
    },
    Issue {
        repo: String,
        title: String,
        by: String,
    },
    Pull {
        repo: String,
        head: String,
        base: String,
        title: String,
        by: String,
    },
    Close {
        repo: String,
        number: u64,
        by: String,
    },
    Reopen {
        repo: String,
        number: u64,
        by: String,
    },
    Merge {
        repo: String,
        number: u64,
        by: String,
    },
    Retarget {
        repo: String,
        number: u64,
        base: String,
        by: String,
    },
    Draft {
        repo: String,
        number: u64,
        draft: bool,
        by: String,
    },
    Lock {
        repo: String,
        number: u64,
        locked: bool,
    },
    Label {
        repo: String,
        number: u64,
        name: String,
        by: String,
    },
    Unlabel {
        repo: String,
        number: u64,
        name: String,
        by: String,
    },
    Press {
        check: u64,
        identifier: String,
        by: String,
    },
    Rerequest {
        check: u64,
        by: String,
    },
    Check {
        repo: String,
        commit: String,
        name: String,
        conclusion: Option<String>,
    },
    Status {
        repo: String,
        commit: String,
        context: String,
        state: String,
    },
    Rename {
        repo: String,
        name: String,
        by: String,
    },
    Transfer {
        repo: String,
        owner: String,
        by: String,
    },
    Grant {
        repo: String,
        login: String,
        role: String,
    },
    Install {
        account: String,
        repos: Vec<String>,
    },
    Uninstall {
        installation: u64,
        by: String,
    },
    Suspend {
        installation: u64,
        suspended: bool,
        by: String,
    },
    Withdraw {
        repo: String,
        by: String,
    },
    Permit {
        installation: u64,
        permission: String,
        level: Option<String>,
    },
    Manifest {
        manifest: Value,
    },
    Redeliver {
        delivery: u64,
    },
    Ping {},
}

fn listed(files: &Files) -> Vec<(&str, Option<&str>)> {
    files.iter().map(|(name, text)| (name.as_str(), text.as_deref())).collect()
}

/// Does something in a repository; nothing more is to be said than that it was done.
fn at(state: &mut State, repo: &str, act: impl FnOnce(&mut State, u64) -> Result<(), Error>) -> Result<Value, Error> {
    let id = state.named(repo)?;
    act(state, id).map(done)
}

fn done((): ()) -> Value {
    json!({})
}

/// Does it; what came of it.
pub(super) fn play(state: &mut State, act: Act) -> Result<Value, Error> {
    match act {
        Act::Comment { repo, number, by, body } => {
            let repo = state.named(&repo)?;
            state.write_comment(repo, number, &by, &body, false).map(|id| json!({ "comment": id }))
        }
        Act::Edit { comment, by, body } => state.rewrite_comment(comment, &by, &body).map(done),
        Act::Delete { comment, by } => state.remove_comment(comment, &by).map(done),
        Act::Minimise { comment, reason } => state.fold_comment(comment, reason.as_deref()).map(done),
        Act::Push { repo, branch, by, message, files } => {
            let repo = state.named(&repo)?;
            let sha = state.add_commit(repo, &branch, &listed(&files), &message, &by)?;
            state.pushed(repo, &by)?;
            Ok(json!({ "commit": sha }))
        }
        Act::Advance { repo, number, by, message, files, force } => {
            let repo = state.named(&repo)?;
            let sha = state.push_to(repo, number, &listed(&files), &message, &by, force)?;
            Ok(json!({ "commit": sha }))
        }
        Act::Force { repo, branch, commit, by } => at(state, &repo, |state, id| state.force(id, &branch, &commit, &by)),
        Act::Issue { repo, title, by } => {
            let repo = state.named(&repo)?;
            state.open_issue(repo, &title, &by, None).map(|number| json!({ "number": number }))
        }
        Act::Pull { repo, head, base, title, by } => {
            let repo = state.named(&repo)?;
            let (from, branch) = match head.split_once(':') {
                Some((fork, branch)) => (state.named(fork)?, branch),
                None => (repo, head.as_str()),
            };
            state.open_pull(repo, from, branch, &base, &title, &by).map(|number| json!({ "number": number }))
        }
        Act::Close { repo, number, by } => at(state, &repo, |state, id| state.set_open(id, number, false, &by)),
        Act::Reopen { repo, number, by } => at(state, &repo, |state, id| state.set_open(id, number, true, &by)),
        Act::Merge { repo, number, by } => {
            let repo = state.named(&repo)?;
            state.merge(repo, number, &by).map(|sha| json!({ "commit": sha }))
        }
        Act::Retarget { repo, number, base, by } => {
            at(state, &repo, |state, id| state.retarget(id, number, &base, &by))
        }
        Act::Draft { repo, number, draft, by } => at(state, &repo, |state, id| state.set_draft(id, number, draft, &by)),
        Act::Lock { repo, number, locked } => at(state, &repo, |state, id| state.set_locked(id, number, locked)),
        Act::Label { repo, number, name, by } => at(state, &repo, |state, id| state.put_label(id, number, &name, &by)),
        Act::Unlabel { repo, number, name, by } => {
            at(state, &repo, |state, id| state.take_label(id, number, &name, &by))
        }
        Act::Press { check, identifier, by } => state.press(check, &identifier, &by).map(done),
        Act::Rerequest { check, by } => state.rerequest(check, &by).map(done),
        Act::Check { repo, commit, name, conclusion } => {
            let repo = state.named(&repo)?;
            state.other_check(repo, &commit, &name, conclusion.as_deref()).map(|id| json!({ "check": id }))
        }
        Act::Status { repo, commit, context, state: word } => {
            at(state, &repo, |state, id| state.set_status(id, &commit, &context, &word))
        }
        Act::Rename { repo, name, by } => at(state, &repo, |state, id| state.rename(id, &name, &by)),
        Act::Transfer { repo, owner, by } => at(state, &repo, |state, id| state.transfer(id, &owner, &by)),
        Act::Grant { repo, login, role } => at(state, &repo, |state, id| state.grant(id, &login, &role)),
        Act::Install { account, repos } => {
            let ids = repos.iter().map(|repo| state.named(repo)).collect::<Result<Vec<_>, _>>()?;
            state.install(&account, &ids).map(|id| json!({ "installation": id }))
        }
        Act::Uninstall { installation, by } => state.uninstall(installation, &by).map(done),
        Act::Suspend { installation, suspended, by } => state.suspend(installation, suspended, &by).map(done),
        Act::Withdraw { repo, by } => at(state, &repo, |state, id| state.withdraw(id, &by)),
        Act::Permit { installation, permission, level } => {
            state.permit(installation, &permission, level.as_deref()).map(done)
        }
        Act::Manifest { manifest } => state.take_manifest(&manifest).map(|code| json!({ "code": code })),
        Act::Redeliver { delivery } => Ok(json!({ "found": state.redeliver(delivery) })),
        Act::Ping {} => {
            state.ping();
            Ok(json!({}))
        }
    }
}
