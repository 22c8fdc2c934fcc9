//! What a probe runs: the smallest that the suite has, unless it is told.

use domain::request::{Options, Request};
use suite::parameter::Kind;
use suite::{Backend, Suite, SuiteRef};

use super::Args;
use crate::failure::Failure;

/// Names that the smallest preset of a suite usually has, smallest first.
const SMALLEST: [&str; 2] = ["small", "light"];

/// What a probe runs.
#[derive(Debug)]
pub(super) struct Asked {
    /// The suite.
    pub(super) suite: Suite,
    /// What is asked of it.
    pub(super) options: Options,
    cluster: String,
}

impl Asked {
    /// What is asked for, with everything else as small as the suite has it.
    pub(super) fn new(name: &str, args: &Args) -> Result<Self, Failure> {
        let usage = |why: &dyn std::fmt::Display| Failure::Usage(why.to_string());
        let request = Request::new(name, args.pairs.iter().map(String::as_str)).map_err(|why| usage(&why))?;
        let mut options = request.options().map_err(|why| usage(&why))?;
        let suite = suite::load(&SuiteRef::from(name), args.suites.as_deref()).map_err(|why| usage(&why))?;
        let Backend::Iris(of) = &suite.backend else {
            return Err(usage(&format!("{name} runs on this machine and needs no cluster: zephyr-ab run {name}")));
        };
        let cluster = of.launcher.cluster.clone();
        let (preset, priority) = (options.preset.clone(), options.priority.clone());
        let fitting = Options { preset, priority, parameters: options.parameters.clone(), ..Options::default() };
        if fitting != options {
            return Err(usage(&"a probe runs one job: only preset, priority and parameters of the suite may be given"));
        }
        narrow(&suite, &mut options);
        suite::resolve(&suite, &options).map_err(|why| usage(&why))?;
        Ok(Self { suite, options, cluster })
    }

    /// The cluster that it runs on.
    pub(super) fn cluster(&self) -> &str {
        &self.cluster
    }

    /// What is asked for, in words.
    pub(super) fn said(&self) -> String {
        let preset = self.options.preset.iter().map(|preset| format!("preset={preset}"));
        let others = self.options.parameters.iter().map(|(key, value)| format!("{key}={value}"));
        let all: Vec<String> = std::iter::once(self.suite.name.to_string()).chain(preset).chain(others).collect();
        all.join(" ")
    }
}

/// The smallest preset, and the first step of every span, where nothing else is asked for.
fn narrow(suite: &Suite, options: &mut Options) {
    if options.preset.is_none() {
        let smallest = SMALLEST.iter().find(|name| suite.presets.iter().any(|preset| preset.name == **name));
        options.preset = smallest.map(|&name| name.to_owned());
    }
    let same = |one: &str, other: &str| one.replace('-', "_") == other.replace('-', "_");
    for parameter in &suite.parameters {
        let Kind::Span(steps) = &parameter.kind else { continue };
        let ends = steps.keys.iter().flat_map(|(first, last)| [first, last]);
        let mut keys = std::iter::once(&parameter.name).chain(ends).chain(&steps.alias);
        let is_asked = keys.any(|key| options.parameters.iter().any(|(asked, _)| same(asked, key)));
        if let (false, Some(first)) = (is_asked, steps.of.first()) {
            options.parameters.push((parameter.name.clone(), first.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Result<String, String> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        let line = ["doctor", "--probe"].iter().chain(words);
        let line = <Line as clap::Parser>::try_parse_from(line).map_err(|why| why.to_string())?;
        let suite = line.args.probe.clone().unwrap_or_default();
        Asked::new(&suite, &line.args).map(|asked| asked.said()).map_err(|why| why.to_string())
    }

    #[test]
    fn the_smallest_unless_told() {
        assert_eq!(asked(&["rig"]).unwrap(), "rig preset=small stages=exact");
        assert_eq!(asked(&["zephyr"]).unwrap(), "zephyr preset=light stages=exact");
        assert_eq!(asked(&["rig", "preset=full", "target=minhash"]).unwrap(), "rig preset=full target=minhash");
        let ends = ["rig", "first-stage=exact", "last-stage=tokenize", "pool_workers=2"];
        assert_eq!(asked(&ends).unwrap(), "rig preset=small first-stage=exact last-stage=tokenize pool_workers=2");
        assert!(asked(&["demo"]).unwrap_err().contains("runs on this machine"));
        assert!(asked(&["rig", "rounds=3"]).unwrap_err().contains("a probe runs one job"));
        assert!(asked(&["rig", "stages=exat"]).unwrap_err().contains("nearest: exact"));
        assert!(asked(&["rig", "--limit", "0s"]).unwrap_err().contains("expected 1s or more"));
    }
}
