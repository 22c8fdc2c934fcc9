//! Secrets in what a benchmark printed, and in what we write.

use domain::arms::Role;
use domain::ports::{Answer, Failure, Fate, Records as _, RecordsError};
use evidence::{Folder, MemoryStorage, Scanner, Storage as _};

use crate::support::*;

fn token() -> String {
    format!("gh{}_{}", "s", "aB3".repeat(12))
}

#[test]
fn answers_are_cleaned_and_that_is_written_down() {
    let own = "the-password-of-the-bot";
    let folder = Folder::new(MemoryStorage::new(), templates(), Scanner::new(&[own]));
    let plan = plan(&["head"], &[2]);
    folder.open(&plan).unwrap();
    let trial = name(&plan, 1, 0, &Role::Control);
    let mut said = answers(&[("sort", 2.0)], 1);
    said.push(Answer {
        name: "02-x.stderr".to_owned(),
        bytes: format!("\u{fffd}cloning https://u:{own}@h/ {}\n", token()).into(),
    });
    let failed = Fate::Failed(Failure { oom: false, text: format!("no access with {}", token()) });
    for _ in 0..2 {
        folder.answer(&trial, &Role::Control, &said).unwrap();
        folder.note(&fate(trial.clone(), Role::Control, failed.clone())).unwrap();
    }
    let open = format!("{}.open", plan.run);
    let mut all = String::new();
    for file in folder.storage().list(&open).unwrap() {
        let bytes = folder.storage().read(&format!("{open}/{file}")).unwrap().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(own) && !text.contains(&token()), "{file}");
        if file != "plan.json" && !file.ends_with("steps.json") {
            all.extend(["# ", &file, "\n", &text, "\n"]);
        }
    }
    insta::assert_snapshot!("redacted", all);
}

#[test]
fn our_own_files_are_refused() {
    let (folder, mut plan) = (folder(), plan(&["head"], &[2]));
    plan.origin.repository = format!("https://x:{}@example.org/owner/name", token());
    let Err(RecordsError::Unusable(why)) = folder.open(&plan) else { panic!("written") };
    assert!(why.starts_with("plan.json: holds what looks like a secret (") && !why.contains(&token()), "{why}");
    let text = format!("env = {{ TOKEN = \"{}\" }}\n", token());
    let why = folder.suite(&plan.run, text.as_bytes()).unwrap_err().to_string();
    assert_eq!(why, "suite.toml: holds what looks like a secret (github-token); not written");
    assert!(folder.storage().list("").is_err(), "nothing was written");
}
