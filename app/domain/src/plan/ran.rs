//! Whether jobs that had run before a comparison were made of the commits of a pull request.

use super::{Origin, Plan};
use crate::arms::{Arms, Role};
use crate::ids::CommitSha;

/// Why a comparison of jobs that had run before is no word about a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    arms: Vec<(String, Option<CommitSha>)>,
    head: CommitSha,
    merge_bases: Vec<CommitSha>,
}

impl Plan {
    /// Why what this comparison comes to is no word about `head`; see [`Origin::doubt`].
    #[must_use]
    pub fn doubt(&self, head: &CommitSha) -> Option<Doubt> {
        self.origin.doubt(&self.arms, head)
    }
}

impl Origin {
    /// Why comparing these arms is no word about `head`. `None` where it is one: the comparison launched its jobs itself, or
    /// all of them say that they were made of the commits that it would have launched, treatments of the head and the
    /// control of a merge base.
    #[must_use]
    pub fn doubt(&self, arms: &Arms, head: &CommitSha) -> Option<Doubt> {
        if self.ran.is_empty() {
            return None;
        }
        let unlike = |role: Role| {
            let text = role.to_string();
            let commit = arms.commit(&role).filter(|_| !self.unknown_commits.contains(&text));
            let fits = commit.is_some_and(|commit| match role {
                Role::Control => self.merge_bases.contains(commit),
                Role::Treatment(_) => commit == head,
            });
            (!fits).then(|| (text, commit.cloned()))
        };
        let unlike: Vec<_> = arms.roles().into_iter().filter_map(unlike).collect();
        let merge_bases = self.merge_bases.clone();
        (!unlike.is_empty()).then(|| Doubt { arms: unlike, head: head.clone(), merge_bases })
    }
}

impl Doubt {
    /// What was compared, in a few words.
    #[must_use]
    pub fn short(&self) -> &'static str {
        if self.arms.iter().all(|(_, commit)| commit.is_none()) {
            "jobs of unknown commits were compared"
        } else {
            "jobs of other commits were compared"
        }
    }

    /// Whose commit it is about which arm, in a sentence without its end.
    #[must_use]
    pub fn words(&self) -> String {
        let base = self.merge_bases.first().map_or("of this pull request", CommitSha::short);
        let of = |(role, commit): &(String, Option<CommitSha>)| match commit {
            None => format!("which commit the jobs of {role} were made of is not known"),
            Some(commit) if *role == Role::Control.to_string() => {
                format!("the jobs of {role} were made of {}, which is not the merge base {base}", commit.short())
            }
            Some(commit) => {
                let head = self.head.short();
                format!("the jobs of {role} were made of {}, which is not the head {head}", commit.short())
            }
        };
        let all: Vec<String> = self.arms.iter().map(of).collect();
        format!("{}: this says nothing of the head {}", all.join(", and "), self.head.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::{Declared, Treatment};

    fn sha(digit: char) -> CommitSha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn of(control: char, head: char, unknown: &[&str]) -> (Origin, Arms) {
        let treatment = Treatment { name: "head".parse().unwrap(), commit: sha(head), declared: Declared::default() };
        let origin = Origin {
            merge_bases: vec![sha('b'), sha('c')],
            ran: [("control".to_owned(), vec!["/me/a".to_owned()])].into(),
            unknown_commits: unknown.iter().map(|role| (*role).to_owned()).collect(),
            ..Origin::default()
        };
        (origin, Arms::new(sha(control), vec![treatment]).unwrap())
    }

    #[test]
    fn only_jobs_of_merge_base_and_head_speak_for_the_head() {
        let head = sha('a');
        let (unknown, other) =
            (Some("jobs of unknown commits were compared"), Some("jobs of other commits were compared"));
        for ((origin, arms), short, words) in [
            (of('b', 'a', &[]), None, ""),
            (of('c', 'a', &[]), None, ""),
            (of('b', 'd', &[]), other, "of head were made of ddddddd, which is not the head aaaaaaa: this"),
            // The head against itself would always pass.
            (of('a', 'a', &[]), other, "of control were made of aaaaaaa, which is not the merge base bbbbbbb: this"),
            (of('b', 'a', &["head"]), unknown, "which commit the jobs of head were made of is not known: this"),
            (of('b', 'a', &["control"]), unknown, "which commit the jobs of control were made of is not known: this"),
            (of('d', 'a', &["head"]), other, "merge base bbbbbbb, and which commit the jobs of head"),
        ] {
            let doubt = origin.doubt(&arms, &head);
            assert_eq!(doubt.as_ref().map(Doubt::short), short, "{origin:?} {arms:?}");
            let said = doubt.map(|doubt| doubt.words()).unwrap_or_default();
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn without_a_merge_base_nothing_speaks_for_the_head_but_what_was_launched() {
        let (origin, arms) = of('b', 'a', &[]);
        let nowhere = Origin { merge_bases: Vec::new(), ..origin.clone() };
        let doubt = nowhere.doubt(&arms, &sha('a')).unwrap();
        assert!(doubt.words().contains("bbbbbbb, which is not the merge base of this pull request: this"), "{doubt:?}");
        let launched = Origin { ran: std::collections::BTreeMap::new(), ..nowhere };
        assert_eq!(launched.doubt(&arms, &sha('a')), None);
    }
}
