//! Folders that another version wrote, or other templates.

use evidence::verify::Compared;
use evidence::{MemoryStorage, Storage as _, Templates, verify};

use crate::flips::reseal;
use crate::support::*;

fn changed(change: impl Fn(&str) -> String) -> MemoryStorage {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    whole(&folder, &plan, 5, 1.5);
    let storage = moved(folder.storage());
    let text = String::from_utf8(storage.read("evidence.json").unwrap().unwrap()).unwrap();
    let other = change(&text);
    assert_ne!(other, text);
    let comment = String::from_utf8(storage.read("comment.md").unwrap().unwrap()).unwrap();
    let digest = |text: &str| domain::ids::Digest::of(text.as_bytes()).as_str()[..12].to_owned();
    storage.write("evidence.json", other.as_bytes()).unwrap();
    storage.write("comment.md", comment.replace(&digest(&text), &digest(&other)).as_bytes()).unwrap();
    reseal(&storage);
    storage
}

fn ours() -> String {
    format!("\"version\": \"{}\"", evidence::compose::VERSION)
}

#[test]
fn another_version_is_said_and_the_numbers_are_compared() {
    let storage = changed(|text| text.replacen(&ours(), "\"version\": \"0.0.9\"", 1));
    let verified = verify(&storage, &templates()).unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!(verified.compared, Compared::Numbers { version: "0.0.9".to_owned(), templates: false });
}

#[test]
fn numbers_of_another_version_must_be_equal_in_twelve_digits() {
    let bend = |by: f64| {
        changed(|text| {
            let mut document: serde_json::Value = serde_json::from_str(text).unwrap();
            document["version"] = "0.0.9".into();
            let cell = &mut document["outcome"]["table"]["sort"]["cpu"]["treatment"];
            *cell = (cell.as_f64().unwrap() * by).into();
            serde_json::to_string_pretty(&document).unwrap()
        })
    };
    assert_eq!(verify(&bend(1.0 + 1e-14), &templates()).unwrap().problems, []);
    let problems = verify(&bend(1.0 + 1e-9), &templates()).unwrap().problems;
    assert_eq!(problems.len(), 1);
    assert!(problems[0].what.starts_with("outcome.table.sort.cpu.treatment is "), "{problems:?}");
}

#[test]
fn another_verdict_of_the_same_version_is_found() {
    let storage = changed(|text| text.replacen("\"verdict\": \"regression\"", "\"verdict\": \"pass\"", 1));
    let problems = verify(&storage, &templates()).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].file == "evidence.json" && problems[0].what.contains("verdict"), "{problems:?}");
}

#[test]
fn what_the_view_says_is_compared_in_the_same_version() {
    let storage = changed(|text| text.replacen("\"behind\": 3", "\"behind\": 0", 1));
    let problems = verify(&storage, &templates()).unwrap().problems;
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(shown.contains(&"evidence.json: view.control.behind is 0 and should be 3".to_owned()), "{shown:?}");
}

#[test]
fn other_templates_are_said() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    whole(&folder, &plan, 5, 1.5);
    let words = tempfile::tempdir().unwrap();
    std::fs::write(words.path().join("words.txt"), "footer.evidence = proof {{digest}}\n").unwrap();
    let other = Templates::from_folder(words.path()).unwrap();
    let verified = verify(&moved(folder.storage()), &other).unwrap();
    assert_eq!(verified.problems, []);
    let version = evidence::compose::VERSION.to_owned();
    assert_eq!(verified.compared, Compared::Numbers { version, templates: true });
}

#[test]
fn another_schema_is_refused_by_name() {
    let storage = changed(|text| text.replacen("zephyr-ab.evidence.v1", "zephyr-ab.evidence.v2", 1));
    let problems = verify(&storage, &templates()).unwrap().problems;
    assert!(problems.iter().any(|p| p.what.contains("evidence.v2")), "{problems:?}");
}
