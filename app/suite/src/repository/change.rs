//! A suite with what a repository says of it.

use domain::ids::Digest;
use domain::plan::suite_digest;

use super::{PLACE, RepositoryFile, Said, listed};
use crate::error::{Problem, SuiteError};
use crate::node::{Node, Table};
use crate::preset::{Preset, named};
use crate::suite::Suite;

/// Most presets that a repository may have of its own.
const MOST_POINTS: usize = 20;

/// The suite with what the repository says of it. Its digest is another one where that changes what is run or how it is judged.
///
/// # Errors
/// The first thing that does not fit the suite, with file, line and key.
pub fn apply(suite: &Suite, file: &RepositoryFile) -> Result<Suite, SuiteError> {
    let name = suite.name.as_str();
    let Some(section) = file.section(name) else { return Ok(suite.clone()) };
    let mut changed = suite.clone();
    let rerun = &mut changed.rerun;
    rerun.on_push = section.on_push.unwrap_or(rerun.on_push);
    rerun.debounce = section.debounce.unwrap_or(rerun.debounce);
    rerun.notify = section.notify.unwrap_or(rerun.notify);
    for check in &section.require_checks {
        if !rerun.require_checks.contains(check) {
            rerun.require_checks.push(check.clone());
        }
    }
    let notes =
        file.open_suite(name, |table| workload(&mut changed, suite, section.margin, table))?.unwrap_or_default();
    if !notes.is_empty() {
        let text = file.text.clone();
        changed.digest = suite_digest(&suite.digest, Some(&Digest::of(text.as_bytes())));
        changed.repository = Some(Said { text, notes });
    }
    Ok(changed)
}

/// Changes what is run and how it is judged. Returns what that is, for people.
fn workload(
    changed: &mut Suite,
    suite: &Suite,
    margin: Option<super::Margin>,
    table: &Table<'_>,
) -> Result<Vec<String>, SuiteError> {
    let mut notes = Vec::new();
    if let (Some(margin), Some(node)) = (margin, table.get("margin")) {
        let judging = &mut changed.judging;
        judging.cpu = margin.cpu.or(judging.cpu);
        judging.elapsed = margin.elapsed.or(judging.elapsed);
        judging.total_cpu = margin.total_cpu.or(judging.total_cpu);
        judging.total_elapsed = margin.total_elapsed.or(judging.total_elapsed);
        judging.check(&node.map()?)?;
        notes.push(format!("{PLACE} of the repository sets the margins: {}", margin.words()));
    }
    if let Some(node) = table.get("presets") {
        changed.presets = presets(node, suite)?;
        let names: Vec<&str> = changed.presets.iter().map(|preset| preset.name.as_str()).collect();
        let default = changed.presets.iter().find(|preset| preset.default);
        let default = default.map_or("none".to_owned(), |preset| preset.name.clone());
        notes.push(format!("{PLACE} of the repository sets the presets: {}; default {default}", names.join(", ")));
    }
    if let Some(node) = table.get("scope") {
        changed.scope = suite.scope.extended(Some(node), &suite.parameters, &changed.presets)?;
        notes.push(format!("{PLACE} of the repository says what a change needs"));
    } else if table.get("presets").is_some() {
        changed.scope = suite.scope.extended(None, &suite.parameters, &changed.presets)?;
    }
    if let Some(lacks) = changed.scope.lacks(&changed.presets) {
        let node = table.get("presets").or_else(|| table.get("scope"));
        let message = format!("the preset {lacks} is needed by a rule of the suite, and must be among those allowed");
        return Err(node.map_or_else(|| table.unfit(&message), |node| node.unfit(&message)));
    }
    Ok(notes)
}

/// The presets: those of the suite that are allowed, each followed by those that are like it, and which is the default.
fn presets(node: &Node<'_>, suite: &Suite) -> Result<Vec<Preset>, SuiteError> {
    let table = listed(node.map()?, &["allow", "default", "add"])?;
    let of_suite: Vec<&str> = suite.presets.iter().map(|preset| preset.name.as_str()).collect();
    let known = |n: &Node<'_>| match n.text()? {
        name if of_suite.contains(&name) => Ok(name.to_owned()),
        other => Err(n.no_word(other, &of_suite)),
    };
    let allow = table.read("allow", |n| n.texts("a list of presets of the suite", known))?;
    let mut all = suite.presets.clone();
    if let Some(node) = table.get("add") {
        let points = node.map()?;
        if points.entries().len() > MOST_POINTS {
            return Err(node.refused(format!("at most {MOST_POINTS} presets")));
        }
        for (name, node) in points.entries() {
            named(name, node)?;
            if of_suite.contains(&name.as_str()) {
                return Err(node.error(Problem::Twice(format!("the preset {name}, which the suite has,"))));
            }
            let table = listed(node.map()?, &["like", "set", "expect"])?;
            let like = match table.get("like") {
                Some(node) => Some(known(node)?),
                None => suite.presets.iter().find(|preset| preset.default).map(|preset| preset.name.clone()),
            };
            let Some(base) = like.and_then(|like| suite.preset(&like)) else {
                table
                    .need("like", "the preset of the suite whose limits and looks it has; the suite has no default")?;
                continue;
            };
            let point = base.point(name, &table, &suite.parameters)?;
            // It ranks with what it is like: what it costs is not known.
            let after = all.iter().rposition(|preset| preset.name == base.name);
            all.insert(after.map_or(all.len(), |at| at + 1), point);
        }
    }
    if let Some(allow) = &allow {
        all.retain(|preset| preset.of_repository || allow.contains(&preset.name));
        if all.is_empty() && !suite.presets.is_empty() {
            return Err(table.unfit("no preset is left"));
        }
    }
    if let Some(node) = table.get("default") {
        let names: Vec<&str> = all.iter().map(|preset| preset.name.as_str()).collect();
        let wanted = node.text()?.to_owned();
        if !names.contains(&wanted.as_str()) {
            return Err(node.no_word(&wanted, &names));
        }
        for preset in &mut all {
            preset.default = preset.name == wanted;
        }
    }
    if let [only] = &mut all[..] {
        only.default = true;
    }
    Ok(all)
}
