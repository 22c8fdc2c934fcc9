//! Folders of synthetic runs through the command line.

use domain::ids::RunId;

use super::*;
use crate::cli::Cli;
use clap::Parser as _;

/// The synthetic run that the evidence crate tests itself with.
#[allow(dead_code)] // only a part of it is used here
#[path = "../../../../evidence/tests/folder/support.rs"]
mod support;

/// A folder of runs, and of one sealed run in it whose treatment takes `by` times as long.
fn sealed(out: &Path, run: &str, by: f64) -> PathBuf {
    let mut plan = support::plan(&["head"], &[5]);
    plan.run = run.parse::<RunId>().unwrap();
    support::whole(&support::on(DiskStorage::new(out)), &plan, 5, by);
    out.join(run)
}

/// Exit code or refusal, and what was printed with the folder's place taken out.
fn ran(out: &Path, args: &[&str]) -> String {
    let cli = Cli::try_parse_from([&["zephyr-ab", "evidence"], args].concat()).unwrap();
    let (result, printed) = crate::world::tests::with_world(|world| cli.run(world));
    let exit = match result {
        Ok(exit) => format!("{exit:?}"),
        Err(failure) => format!("{:?}: {failure}", failure.exit()),
    };
    let printed = format!("{exit}\n{printed}");
    printed.replace(&out.display().to_string(), "OUT")
}

const ONE: &str = "20261129T202850Z-8d10c1b5";
const OTHER: &str = "20261130T081510Z-02c4aa71";

#[test]
fn verify_names_what_has_changed() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    let folder = sealed(out, ONE, 1.5);
    let at = folder.to_str().unwrap();
    let fine = ran(out, &["verify", at]);
    let digest = fine.find("evidence ").map(|i| fine[i + 9..i + 21].to_owned()).unwrap();
    let fine = fine.replace(&digest, "[digest]");
    std::fs::write(folder.join("arms/control-1.0-1/steps.json"), "[]").unwrap();
    std::fs::write(folder.join("arms/\u{1b}[31m"), "x").unwrap();
    std::fs::remove_file(folder.join("looks.jsonl")).unwrap();
    let broken = ran(out, &["verify", at]);
    let nothing = ran(out, &["verify", out.join("nothing").to_str().unwrap()]);
    insta::assert_snapshot!("verify", format!("{fine}\n{broken}\n{nothing}"));
}

#[test]
fn explain_says_how_a_number_came_to_be() {
    let out = tempfile::tempdir().unwrap();
    let folder = sealed(out.path(), ONE, 1.5);
    let at = folder.to_str().unwrap();
    let row = ran(out.path(), &["explain", at, "total"]);
    let unknown = ran(out.path(), &["explain", at, "nothing like it"]);
    std::fs::write(folder.join("looks.jsonl"), "").unwrap();
    let broken = ran(out.path(), &["explain", at, "total"]);
    insta::assert_snapshot!("explain", format!("{row}\n{unknown}\n{broken}"));
}

#[test]
fn show_lists_the_files() {
    let out = tempfile::tempdir().unwrap();
    let folder = sealed(out.path(), ONE, 1.5);
    for format in ["text", "markdown"] {
        let shown = ran(out.path(), &["show", "--format", format, folder.to_str().unwrap()]);
        assert!(shown.starts_with("Done\n") && shown.contains("Demo A/B test"), "{shown}");
        assert!(shown.contains("  arms/head-5.0-2/steps.json\n") && shown.contains("OUT/"), "{shown}");
        assert_eq!(shown.contains("<!-- zephyr-ab-test:demo -->"), format == "markdown");
    }
}

#[test]
fn diff_names_every_fact() {
    let out = tempfile::tempdir().unwrap();
    let (one, other) = (sealed(out.path(), ONE, 1.0), sealed(out.path(), OTHER, 1.5));
    let (one, other) = (one.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(ran(out.path(), &["diff", one, one]), "Done\nno fact differs\n");
    insta::assert_snapshot!("diff", ran(out.path(), &["diff", one, other]));
}
