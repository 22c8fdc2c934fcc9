//! Whether what was planned once is still what would be planned now, after a push.

use domain::arms::{Arms, Role};
use domain::ids::CommitSha;
use domain::plan::Origin;
use domain::pull::Compared;
use domain::request::Options;
use lab::git::Mirror;
use suite::Suite;

use super::found::{choose, trees};
use super::plan::{Commits, mirror, usage};
use super::trivial::{Difference, difference};
use crate::cli::World;
use crate::failure::Failure;

/// Paths that are named.
const NAMED: usize = 3;

/// Weighs new commits against those of a plan: `before` and `arms` are the plan's, `commits` names the new head and base,
/// and `suite` is the one that the plan was made with, since digests under other rules say nothing. Old commits that are
/// not in the mirror any more can only be compared by the digests of their files.
///
/// # Errors
/// [`Failure::Usage`] where the request or its commits make no sense any more; anything else where git failed.
pub fn weigh(
    suite: &Suite,
    options: &Options,
    commits: &Commits<'_>,
    before: &Origin,
    arms: &Arms,
    world: &World<'_>,
) -> Result<Compared, Failure> {
    let resolved = suite::resolve(suite, options).map_err(usage)?;
    let (mirror, _holds) = mirror(commits, world)?;
    let now = choose(&mirror, commits, options, &resolved)?.arms;
    if now.roles() != arms.roles() {
        return Ok(Compared::Changed { why: "the arms are other ones".to_owned() });
    }
    let trees = trees(suite, &mirror, &now)?;
    let differs = |role: &Role| before.trees.get(&role.to_string()) != trees.get(&role.to_string());
    let mut reasons: Vec<String> = Vec::new();
    let roles: Vec<Role> = now.roles().into_iter().filter(differs).collect();
    if roles.is_empty() {
        return Ok(Compared::Same { why: "the files that matter are the same".to_owned() });
    }
    for role in roles {
        let (Some(old), Some(new)) = (arms.commit(&role), now.commit(&role)) else { continue };
        match differences(suite, &mirror, old, new)? {
            None => {
                let why = format!("files of {role} differ, and {} is not there any more to say which", old.short());
                return Ok(Compared::Changed { why });
            }
            Some(Difference::Matters(paths)) => {
                let listed: Vec<String> = paths.iter().take(NAMED).map(ToString::to_string).collect();
                let more = paths.len().saturating_sub(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                return Ok(Compared::Changed { why: format!("in {role}: {}{more}", listed.join(", ")) });
            }
            Some(Difference::Trivial(found)) => {
                reasons.extend(found.into_iter().filter(|reason| !reasons.contains(reason)).collect::<Vec<_>>());
            }
        }
    }
    Ok(Compared::Same { why: super::plan::only(&reasons) })
}

/// What differs between two commits; `None` where the old one is not in the mirror.
fn differences(
    suite: &Suite,
    mirror: &Mirror,
    old: &CommitSha,
    new: &CommitSha,
) -> Result<Option<Difference>, Failure> {
    if mirror.resolve(old.as_str()).is_err() {
        return Ok(None);
    }
    difference(suite, mirror, old, new).map(Some)
}
