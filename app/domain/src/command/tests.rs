//! Commands from the outside.

mod answers;
mod cases;
mod hostile;
mod places;
mod readme;

use super::*;

/// Three suites, one of them like those for clusters.
fn known() -> Known {
    let parameter = |name: &str, others: &[&str], allowed: Option<&[&str]>| ParameterKeys {
        name: name.to_owned(),
        others: others.iter().map(|key| (*key).to_owned()).collect(),
        allowed: allowed.map(|words| words.iter().map(|word| (*word).to_owned()).collect()),
    };
    let suite = |name: &str, presets: &[&str], parameters: Vec<ParameterKeys>| SuiteKeys {
        name: name.parse().unwrap(),
        presets: presets.iter().map(|preset| (*preset).to_owned()).collect(),
        parameters,
    };
    Known {
        suites: vec![
            suite("demo", &[], Vec::new()),
            suite("rig", &["small"], vec![parameter("sample", &[], None)]),
            suite(
                "zephyr",
                &["light", "full"],
                vec![
                    parameter("sample", &[], None),
                    parameter("sources", &[], None),
                    parameter("stages", &["first-stage", "last-stage", "target"], None),
                    parameter("pool_workers", &[], None),
                    parameter("mode", &[], Some(&["fast", "exact"])),
                ],
            ),
        ],
    }
}

/// A command line that is understood, in short.
fn understood(line: &str) -> String {
    let command = read(line, &known()).unwrap_or_else(|error| panic!("{line}: {error}"));
    let command = command.unwrap_or_else(|| panic!("{line}: no command"));
    let pairs = command.request.pairs.iter().map(|(key, value)| format!("{key}={value}"));
    let state = command.state.map(|on| if on { "on" } else { "off" }.to_owned());
    let said = [command.digest, command.reason, command.row, state].into_iter().flatten();
    let suite = command.suite.map_or("-".to_owned(), String::from);
    [suite, command.verb.name.to_owned()].into_iter().chain(pairs).chain(said).collect::<Vec<_>>().join("|")
}

fn refused(body: &str) -> CommandError {
    match read(body, &known()) {
        Err(error) => error,
        Ok(found) => panic!("{body:?}: {found:?}"),
    }
}
