//! What a repository says of one suite, as far as it can be understood without the suite.

use domain::command::{VERBS, VerbKind, Who};
use domain::ports::Notify;
use domain::ports::forge::Permission;
use domain::pull::OnPush;

use super::listed;
use crate::error::SuiteError;
use crate::node::{Node, Table};
use crate::policy::{NOTIFY, ON_PUSH, never};
use crate::preset::named;
use crate::unit::Duration;

/// Most checks that a repository may require, beside the suite's.
const MOST_CHECKS: usize = 20;
/// Longest time that a head must stand before it is measured, milliseconds: a day.
const LONGEST_DEBOUNCE: u64 = 86_400_000;

/// What stands in the table of a suite.
const KEYS: [&str; 6] = ["presets", "margin", "scope", "rerun", "require_checks", "who"];
const LEVELS: [(&str, Permission); 2] = [("write", Permission::Write), ("admin", Permission::Admin)];

/// Tolerances, each a share; `None` is the suite's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Margin {
    /// Of a row's CPU time.
    pub cpu: Option<f64>,
    /// Of a row's elapsed time.
    pub elapsed: Option<f64>,
    /// Of the sum of all CPU time.
    pub total_cpu: Option<f64>,
    /// Of the sum of all elapsed time.
    pub total_elapsed: Option<f64>,
}

impl Margin {
    fn read(node: &Node<'_>) -> Result<Self, SuiteError> {
        let table = listed(node.map()?, &["cpu", "elapsed", "total_cpu", "total_elapsed"])?;
        let percent = |key: &str| table.read(key, |n| n.percent(0.5, 50.0));
        Ok(Self {
            cpu: percent("cpu")?,
            elapsed: percent("elapsed")?,
            total_cpu: percent("total_cpu")?,
            total_elapsed: percent("total_elapsed")?,
        })
    }

    /// `cpu 3%, elapsed 8%`.
    #[must_use]
    pub fn words(&self) -> String {
        let all = [
            ("cpu", self.cpu),
            ("elapsed", self.elapsed),
            ("total_cpu", self.total_cpu),
            ("total_elapsed", self.total_elapsed),
        ];
        // Hundredths of a percent: more digits than anybody means.
        let shown = |share: f64| (share * 10_000.0).round() / 100.0;
        let words = all.into_iter().filter_map(|(name, share)| Some(format!("{name} {}%", shown(share?))));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// What a repository says of one suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The tolerances.
    pub margin: Option<Margin>,
    /// What a push does.
    pub on_push: Option<OnPush>,
    /// How long a head must stand before it is measured.
    pub debounce: Option<Duration>,
    /// How somebody is told.
    pub notify: Option<Notify>,
    /// Further checks that must be green on the head before anything is launched.
    pub require_checks: Vec<String>,
    /// Who may, by verb: never less than the table of verbs says.
    who: Vec<(VerbKind, Permission)>,
    /// What is said of presets and of what a change needs, which depends on the suite; for people.
    further: Vec<String>,
}

impl Section {
    pub(super) fn read(node: &Node<'_>) -> Result<Self, SuiteError> {
        let table = listed(node.map()?, &KEYS)?;
        let mut section =
            Self { margin: table.read("margin", Margin::read)?, further: further(&table)?, ..Self::default() };
        if let Some(node) = table.get("rerun") {
            let rerun = listed(node.map()?, &["on_push", "debounce", "notify", "forks"])?;
            section.on_push = rerun.read("on_push", |n| n.choice(&ON_PUSH))?;
            section.debounce = rerun.read("debounce", |n| match n.duration(1000)? {
                Duration(ms) if ms > LONGEST_DEBOUNCE => Err(n.refused("a duration of 1s to 24h")),
                debounce => Ok(debounce),
            })?;
            section.notify = rerun.read("notify", |n| n.choice(&NOTIFY))?;
            rerun.read("forks", never)?;
        }
        if let Some(node) = table.get("require_checks") {
            section.require_checks = node.texts("a list of names of checks", Node::line)?;
            if section.require_checks.len() > MOST_CHECKS {
                return Err(node.refused(format!("at most {MOST_CHECKS} checks")));
            }
        }
        if let Some(node) = table.get("who") {
            let verbs: Vec<_> =
                VERBS.iter().filter(|verb| verb.built && verb.needs_suite && verb.who != Who::Anyone).collect();
            let names: Vec<&str> = verbs.iter().map(|verb| word(verb.kind, verb.name)).collect();
            let who = node.table(&names)?;
            for (verb, name) in verbs.iter().zip(&names) {
                section.who.extend(who.read(name, |n| Ok((verb.kind, n.choice(&LEVELS)?)))?);
            }
        }
        Ok(section)
    }

    /// What is needed at least for a verb. What is said of `run` counts for all that starts something of the same cost, unless
    /// that is named itself.
    pub(super) fn least(&self, verb: VerbKind) -> Option<Permission> {
        let of = |verb: VerbKind| self.who.iter().find(|(named, _)| *named == verb).map(|(_, least)| *least);
        let starts = matches!(verb, VerbKind::Retry | VerbKind::Compare | VerbKind::Auto);
        of(verb).or_else(|| of(VerbKind::Run).filter(|_| starts))
    }

    /// A line for each thing that is said.
    pub(super) fn says(&self) -> Vec<String> {
        let mut lines = self.further.clone();
        lines.extend(self.margin.map(|margin| format!("margins: {}", margin.words())));
        let on_push = self.on_push.and_then(|on| ON_PUSH.iter().find(|(_, known)| *known == on));
        lines.extend(on_push.map(|(word, _)| format!("pushes: {word}")));
        lines.extend(self.debounce.map(|debounce| format!("a head must stand for {debounce}")));
        let notify = self.notify.and_then(|how| NOTIFY.iter().find(|(_, known)| *known == how));
        lines.extend(notify.map(|(word, _)| format!("a verdict is told by: {word}")));
        if !self.require_checks.is_empty() {
            lines.push(format!("checks that must be green: {}", self.require_checks.join(", ")));
        }
        for (kind, least) in &self.who {
            let name = VERBS.iter().find(|verb| verb.kind == *kind).map_or("", |verb| word(verb.kind, verb.name));
            let level = LEVELS.iter().find(|(_, known)| known == least).map_or("", |(level, _)| level);
            lines.push(format!("who may {name}: {level}"));
        }
        lines
    }
}

/// The word of a verb here: a comparison is asked for without one.
fn word(kind: VerbKind, name: &'static str) -> &'static str {
    if kind == VerbKind::Run { "run" } else { name }
}

/// What is said of presets and scope, for people. Whether it fits the suite is seen when it is applied.
fn further(table: &Table<'_>) -> Result<Vec<String>, SuiteError> {
    let mut lines = Vec::new();
    let text = |n: &Node<'_>| n.line();
    if let Some(node) = table.get("presets") {
        let presets = listed(node.map()?, &["allow", "default", "add"])?;
        let allow = presets.read("allow", |n| n.texts("a list of presets", Node::line))?;
        lines.extend(allow.map(|names| format!("presets of the suite: {}", names.join(", "))));
        let added = presets.read("add", |n| {
            let name = |(name, node): &(String, Node<'_>)| named(name, node).map(|()| name.clone());
            n.map()?.entries().iter().map(name).collect::<Result<Vec<String>, _>>()
        })?;
        lines.extend(
            added.filter(|names| !names.is_empty()).map(|names| format!("presets of its own: {}", names.join(", "))),
        );
        lines.extend(presets.read("default", text)?.map(|name| format!("default preset: {name}")));
    }
    if let Some(node) = table.get("scope") {
        let scope = listed(node.map()?, &["ignore", "rules", "suite_rules"])?;
        let count =
            |key: &str| Ok::<_, SuiteError>(scope.read(key, |n| n.list("a list"))?.map_or(0, |list| list.len()));
        let (rules, ignored) = (count("rules")?, count("ignore")?);
        lines.push(format!("what a change needs: rules {rules}, patterns of paths that do not matter {ignored}"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use domain::command::Pairs;

    use super::*;

    #[test]
    fn every_verb_can_be_named() {
        // What may not be restricted is for anyone, or is not about a suite.
        let free: Vec<&str> =
            VERBS.iter().filter(|verb| verb.who == Who::Anyone || !verb.needs_suite).map(|verb| verb.name).collect();
        assert_eq!(free, ["status", "help"]);
        assert!(VERBS.iter().any(|verb| verb.kind == VerbKind::Run && verb.pairs == Pairs::Request));
    }
}
