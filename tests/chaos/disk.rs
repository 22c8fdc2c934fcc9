//! Disks that are full or cannot be written to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::repository::Bench;
use crate::support::world::World;

/// A small file system, unmounted when it is dropped.
struct Small(PathBuf);

impl Small {
    /// Mounts one; `None`, with a line that says so, where that is not allowed.
    fn mount(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).expect("a folder");
        let size = format!("size={size},mode=0777");
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(folder).output();
        if status.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder.to_owned()));
        }
        println!("skipped: a file system of its own cannot be mounted here");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// A world whose `topic` prints so much in its second step that the disk is full of it.
fn loud() -> World {
    let world = World::new();
    let loud = "head -c 6000000 /dev/zero | tr '\\0' x; echo";
    world.repository.branch("topic", "main", &Bench::first(loud));
    world
}

#[test]
fn a_full_disk_under_the_evidence_ends_the_run_with_its_name() {
    let world = loud();
    let Some(_small) = Small::mount(&world.path("out"), "2m") else { return };
    let ran = world.run(&["rounds=4", "--head", "topic"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("Verdict: pass") && !ran.stdout.contains("Verdict: regression"), "{}", ran.stdout);
}

#[test]
fn a_full_disk_under_the_trials_is_no_regression() {
    let world = loud();
    let Some(_small) = Small::mount(&world.path("tmp"), "4m") else { return };
    let ran = world.run(&["rounds=4", "--head", "topic"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("Verdict: pass") && !ran.stdout.contains("Verdict: regression"), "{}", ran.stdout);
    let trials = fs::read_to_string(world.evidence().join("trials.jsonl")).expect("a file");
    assert!(trials.contains("No space left"), "{trials}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named_before_anything_starts() {
    let world = World::new();
    fs::write(world.path("out"), "a file").expect("a file");
    let ran = world.run(&["rounds=1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("out"), "{}", ran.stderr);
    let mut command = world.command(&["run", "tiny.toml", "--repo", "repository", "--out", "elsewhere"]);
    let output = command.env("TMPDIR", world.path("out")).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("/out"), "{said}");
}
