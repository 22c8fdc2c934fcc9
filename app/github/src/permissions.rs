//! What somebody may do.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use domain::ports::forge::{Account, ForgeError, Permission, Repo};

use crate::asking::{Answer, Ask, Hub};
use crate::objects::Permitted;
use crate::pages::escape;
use crate::verdict;

/// How long an answer is good for.
const LASTS_MS: u64 = 60_000;

/// What was answered, by repository and account, and when it was asked.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<HashMap<(u64, u64), (u64, Permission)>>);

impl Remembered {
    fn get(&self, key: (u64, u64), now: u64) -> Option<Permission> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(&key).filter(|(at, _)| lasts(*at, now)).map(|(_, permission)| *permission)
    }

    fn put(&self, key: (u64, u64), asked: u64, permission: Permission) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|_, (at, _)| lasts(*at, asked));
        answers.insert(key, (asked, permission));
    }
}

fn lasts(at: u64, now: u64) -> bool {
    (at..at.saturating_add(LASTS_MS)).contains(&now)
}

impl Hub {
    pub(crate) async fn permission(&self, repo: &Repo, who: &Account) -> Result<Permission, ForgeError> {
        let key = (repo.id, who.id);
        let asked = self.clock.now_ms();
        if let Some(permission) = self.remembered.get(key, asked) {
            return Ok(permission);
        }
        let tail = format!("/collaborators/{}/permission", escape(&who.login));
        let permission = match self.ask(&Ask::get(repo, tail)).await? {
            Answer::Missing(_) => Permission::None,
            Answer::Is(reply) => {
                let found: Permitted = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
                // The name may be somebody else's by now: whoever it is about decides.
                if found.user.as_ref().and_then(|user| user.id) == Some(who.id) {
                    level(&found)
                } else {
                    Permission::None
                }
            }
        };
        self.remembered.put(key, asked, permission);
        Ok(permission)
    }
}

/// The word of GitHub; where it is none that we know, the role; else nothing.
fn level(found: &Permitted) -> Permission {
    let word = |word: Option<&str>| match word {
        Some("admin") => Some(Permission::Admin),
        Some("maintain" | "write") => Some(Permission::Write),
        Some("triage" | "read") => Some(Permission::Read),
        Some("none") => Some(Permission::None),
        _ => None,
    };
    word(found.permission.as_deref()).or_else(|| word(found.role_name.as_deref())).unwrap_or(Permission::None)
}
