//! What a trial of one arm is, as it stands in the plan, and the request that starts it.

use std::collections::BTreeMap;

use domain::ids::{CommitSha, Digest, RunTag};
use domain::rounds::TrialName;
use marin::iris::{Command, Constraint, Entrypoint, Environment, LaunchRequest, PriorityBand, Resources};
use marin::wire::Millis;
use serde::{Deserialize, Serialize};
use suite::cluster::{Cluster, Place, TagForm};

use super::rules::Rules;

/// One argument of the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// As it is.
    Text(String),
    /// Pieces with the tag of the trial between them.
    Tagged {
        /// The pieces; one more than there are tags.
        around_tag: Vec<String>,
    },
}

/// Where a job runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// In a region of the controller's own cluster.
    Region(String),
    /// On a cluster that the controller passes jobs on to.
    Cluster(String),
}

/// Files that are taken from another commit in every arm: those of the benchmark itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Harness {
    /// The commit.
    pub commit: CommitSha,
    /// Paths in its tree.
    pub paths: Vec<String>,
}

/// What a trial of one arm is. Nothing of it is found out again after planning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The generation of the command line that the commit has.
    pub generation: String,
    /// The command line.
    pub argv: Vec<Argument>,
    /// Environment, shown by the controller to whoever asks.
    pub env: BTreeMap<String, String>,
    /// Shell texts of the suite that children of the job inherit.
    #[serde(default)]
    pub setup_scripts: Vec<String>,
    /// Shell texts of the suite that run before the command.
    #[serde(default)]
    pub setup_commands: Vec<String>,
    /// Thousandths of a core.
    pub cpu_millicores: u32,
    /// Bytes.
    pub memory_bytes: u64,
    /// Bytes.
    pub disk_bytes: u64,
    /// `production`, `interactive` or `batch`.
    pub priority: String,
    /// Whether the job may be preempted.
    pub preemptible: bool,
    /// Preemptions that a task is tried again after.
    pub retries_preemption: u32,
    /// Failures that a task is tried again after.
    pub retries_failure: u32,
    /// Where it runs.
    pub site: Site,
    /// Characters of the tag of a trial.
    pub tag_chars: String,
    /// Length of the tag of a trial.
    pub tag_length: u32,
    /// Files that are taken from another commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<Harness>,
    /// How its answers become rows.
    pub rules: Rules,
}

/// Stands for the tag while a command line is built: no suite and no value has a control character.
const PLACE_OF_TAG: &str = "\0";

impl Launch {
    /// The launch of an arm: `line` makes the command line for a tag.
    ///
    /// # Errors
    /// The first error of `line`.
    pub fn new<E>(
        cluster: &Cluster,
        generation: &str,
        line: impl FnOnce(&str) -> Result<Vec<String>, E>,
        env: &BTreeMap<String, String>,
        (site, priority): (&Place, &str),
        rules: Rules,
    ) -> Result<Self, E> {
        let argument = |text: String| {
            if text.contains(PLACE_OF_TAG) {
                Argument::Tagged { around_tag: text.split(PLACE_OF_TAG).map(str::to_owned).collect() }
            } else {
                Argument::Text(text)
            }
        };
        let launcher = &cluster.launcher;
        let TagForm { chars, length } = launcher.run_tag.clone();
        let mut all = launcher.env.clone();
        all.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(Self {
            generation: generation.to_owned(),
            argv: line(PLACE_OF_TAG)?.into_iter().map(argument).collect(),
            env: all,
            setup_scripts: launcher.setup.scripts.iter().map(|script| script.text.clone()).collect(),
            setup_commands: launcher.setup.commands.iter().map(|script| script.text.clone()).collect(),
            cpu_millicores: millicores(launcher.cpu),
            memory_bytes: launcher.ram.0,
            disk_bytes: launcher.disk.0,
            priority: priority.to_owned(),
            preemptible: launcher.preemptible,
            retries_preemption: launcher.retries.preemption,
            retries_failure: launcher.retries.failure,
            site: match site {
                Place::Region(name) => Site::Region(name.clone()),
                Place::Cluster(name) => Site::Cluster(name.clone()),
            },
            tag_chars: chars,
            tag_length: length,
            harness: None,
            rules,
        })
    }

    /// The tag of a trial: a function of the trial alone, so that submitting it again names the same outputs, and of
    /// equal length in every arm.
    #[must_use]
    pub fn tag(&self, trial: &TrialName) -> String {
        let chars: Vec<char> = self.tag_chars.chars().collect();
        let mut tag = String::new();
        for block in 0_u32.. {
            let digest = Digest::of(format!("run tag {block} of {trial}").as_bytes());
            // Two digits of the digest make a character; the bias of the remainder does not matter here.
            for pair in digest.as_str().as_bytes().chunks(4) {
                if tag.len() >= self.tag_length as usize || chars.is_empty() {
                    return tag;
                }
                let text = std::str::from_utf8(pair).unwrap_or_default();
                let number = usize::from_str_radix(text, 16).unwrap_or_default();
                tag.push(chars[number % chars.len()]);
            }
        }
        tag
    }

    /// The command line of a trial.
    #[must_use]
    pub fn command(&self, tag: &str) -> Vec<String> {
        let text = |argument: &Argument| match argument {
            Argument::Text(text) => text.clone(),
            Argument::Tagged { around_tag } => around_tag.join(tag),
        };
        self.argv.iter().map(text).collect()
    }

    /// Checks what the type does not say.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        let tag: String = self.tag_chars.chars().cycle().take(self.tag_length as usize).collect();
        tag.parse::<RunTag>().map_err(|why| why.to_string())?;
        if self.argv.is_empty() {
            return Err("it has no command line".to_owned());
        }
        band(&self.priority).map(drop)
    }

    /// The request of a trial. `name` is `/user/job`, `tree` a digest of the commit's files; the bundle is for the caller
    /// to add.
    ///
    /// # Errors
    /// A priority that is none.
    pub fn request(
        &self,
        name: &str,
        trial: &TrialName,
        (commit, tree): (&CommitSha, &str),
        limit_ms: u64,
    ) -> Result<LaunchRequest, String> {
        let mut env = self.env.clone();
        env.entry(PROVENANCE.to_owned()).or_insert_with(|| provenance(commit, tree, self.harness.as_ref()));
        let mut constraints = vec![match &self.site {
            Site::Region(region) => Constraint::one_of("region", &[region]),
            Site::Cluster(cluster) => Constraint::one_of("cluster", &[cluster]),
        }];
        if !self.preemptible {
            constraints.push(Constraint::one_of("preemptible", &["false"]));
        }
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Ok(LaunchRequest {
            name: name.to_owned(),
            entrypoint: Entrypoint {
                setup_commands: self.setup_commands.clone(),
                run_command: Command { argv: self.command(&self.tag(trial)), ..Command::default() },
                ..Entrypoint::default()
            },
            environment: Environment {
                env_vars: env,
                setup_scripts: self.setup_scripts.clone(),
                ..Environment::default()
            },
            resources: Resources {
                cpu_millicores: i64::from(self.cpu_millicores),
                memory_bytes: signed(self.memory_bytes),
                disk_bytes: signed(self.disk_bytes),
                ..Resources::default()
            },
            constraints,
            replicas: 1,
            max_retries_failure: i64::from(self.retries_failure),
            max_retries_preemption: i64::from(self.retries_preemption),
            timeout: Some(Millis { milliseconds: signed(limit_ms) }),
            priority_band: band(&self.priority)?,
            ..LaunchRequest::default()
        })
    }
}

/// The variable in which the clients of the cluster say what a job was made of.
pub const PROVENANCE: &str = "MARIN_PROVENANCE";

/// What a job is made of, in the form of the cluster's own client, so that it can be told from the job alone. That form
/// has the beginning of a commit only, and a controller hides whatever is as long and as random as a whole one: the whole
/// stands beside it in two pieces.
fn provenance(commit: &CommitSha, tree: &str, harness: Option<&Harness>) -> String {
    let (begin, end) = commit.as_str().split_at(commit.as_str().len() / 2);
    let command = harness.map(|harness| format!("benchmark of {}", harness.commit.short()));
    serde_json::json!({
        "tree_hash": tree.get(..12).unwrap_or(tree),
        "base_commit": commit.short(),
        "commit": [begin, end],
        "dirty": false,
        "branch": null,
        "built_by": "zephyr-ab",
        "command_line": command.into_iter().collect::<Vec<String>>(),
    })
    .to_string()
}

/// The commit that a job says it was made of; none where there were changes beside it, or where it is not said whole.
#[must_use]
pub fn commit_of(provenance: &str) -> Option<CommitSha> {
    let said: serde_json::Value = serde_json::from_str(provenance).ok()?;
    if said.get("dirty")?.as_bool()? {
        return None;
    }
    let whole = match said.get("commit").and_then(serde_json::Value::as_array) {
        Some(pieces) => pieces.iter().map(serde_json::Value::as_str).collect::<Option<String>>()?,
        None => said.get("base_commit")?.as_str()?.to_owned(),
    };
    whole.parse().ok()
}

/// A fraction of a thousandth of a core is none: the suite allows hundredths at least.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0.01 to 1024 cores by the suite
fn millicores(cores: f64) -> u32 {
    (cores * 1000.0).round().clamp(0.0, 4e9) as u32
}

/// The priority band of its word.
pub(crate) fn band(word: &str) -> Result<PriorityBand, String> {
    match word {
        "production" => Ok(PriorityBand::Production),
        "interactive" => Ok(PriorityBand::Interactive),
        "batch" => Ok(PriorityBand::Batch),
        other => Err(format!("{other:?} is not a priority; allowed: production, interactive, batch")),
    }
}

/// The word of a priority band, as suites have it.
pub(crate) fn band_word(band: &PriorityBand) -> Option<String> {
    let name = band.as_str().strip_prefix("PRIORITY_BAND_")?;
    (!matches!(band, PriorityBand::Inherit)).then(|| name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_back_and_no_piece_of_it_is_hidden() {
        let commit: CommitSha = "5c5f1305bc1fd420c530c73ce1f4bbca4d725907".parse().unwrap();
        let harness = Harness { commit: commit.clone(), paths: Vec::new() };
        let said = provenance(&commit, &"5c5f1305bc1fd420".repeat(4), Some(&harness));
        assert_eq!(commit_of(&said), Some(commit.clone()));
        // A controller hides runs of these characters from 32 on.
        let longest = said.split(|c: char| !c.is_ascii_alphanumeric() && !"+/_-".contains(c)).map(str::len).max();
        assert!(longest < Some(32), "{said}");
        for (said, expected) in [
            (format!(r#"{{"base_commit":"{commit}","dirty":false}}"#), true),
            (format!(r#"{{"base_commit":"{commit}","dirty":true}}"#), false),
            (format!(r#"{{"base_commit":"{commit}"}}"#), false),
            (r#"{"base_commit":"5c5f130","dirty":false}"#.to_owned(), false),
            (r#"{"base_commit":"[REDACTED]","dirty":false}"#.to_owned(), false),
            ("{".to_owned(), false),
        ] {
            assert_eq!(commit_of(&said).is_some(), expected, "{said}");
        }
    }
}
