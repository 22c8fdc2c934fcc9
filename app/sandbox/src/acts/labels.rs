//! Labels.

use serde_json::json;

use crate::Error;
use crate::model::Label;
use crate::state::State;

/// The longest name, characters.
const LONGEST: usize = 50;

/// Whether two names are one label.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

impl State {
    /// Puts a label on an issue, and makes it where nobody has yet. Nothing happens where it is there already.
    pub(crate) fn put_label(&mut self, repo: u64, number: u64, name: &str, by: &str) -> Result<(), Error> {
        if name.trim().is_empty() || name.chars().count() > LONGEST {
            return Err(Error::Refused(format!("{name:?} is not the name of a label")));
        }
        self.issue(repo, number)?;
        let known =
            self.repo(repo)?.labels.iter().find(|label| same(&label.name, name)).map(|label| label.name.clone());
        let name = known.clone().unwrap_or_else(|| name.to_owned());
        let id = self.id();
        if let (None, Some(found)) = (known, self.repos.get_mut(&repo)) {
            found.labels.push(Label { id, name: name.clone() });
        }
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        if issue.labels.contains(&name) {
            return Ok(());
        }
        issue.labels.push(name.clone());
        issue.updated_ms = now;
        self.tell_of_label(repo, number, "labeled", &name, by)
    }

    /// Takes a label off an issue.
    pub(crate) fn take_label(&mut self, repo: u64, number: u64, name: &str, by: &str) -> Result<(), Error> {
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        let at = issue.labels.iter().position(|label| same(label, name));
        let name = issue.labels.remove(at.ok_or_else(|| Error::Unknown(format!("label {name}")))?);
        issue.updated_ms = now;
        self.tell_of_label(repo, number, "unlabeled", &name, by)
    }

    /// The app is told of pull requests only.
    fn tell_of_label(&mut self, repo: u64, number: u64, action: &str, name: &str, by: &str) -> Result<(), Error> {
        if self.issue(repo, number)?.pull.is_none() {
            return Ok(());
        }
        let label = self.label_json(self.repo(repo)?, name);
        self.tell_of_pull(repo, number, action, by, json!({ "label": label }))
    }
}
