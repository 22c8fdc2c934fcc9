//! `zephyr-ab evidence` on folders that real runs left.

use std::fs;
use std::path::Path;

use crate::support::repository::Bench;
use crate::support::world::{World, files, listed};

fn measured() -> World {
    let world = World::new();
    world.repository.branch("topic", "main", &Bench { items: 8, ..Bench::default() });
    let ran = world.run(&["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    world
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).expect("below"));
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::copy(&file, target).expect("a copy");
    }
}

#[test]
fn a_folder_verifies_wherever_it_is() {
    let world = measured();
    let away = world.path("somewhere/else entirely");
    copy(&world.evidence(), &away);
    let ran = world.call(&["evidence", "verify", away.to_str().expect("UTF-8")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("inconclusive (DIFFERENT_WORK)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("evidence and comment byte for byte"), "{}", ran.stdout);
    let (one, other) = (world.evidence(), away);
    let ran = world.call(&["evidence", "diff", one.to_str().expect("UTF-8"), other.to_str().expect("UTF-8")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "no fact differs\n"));
    let ran = world.call(&["evidence", "show", one.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("Verdict: inconclusive") && ran.stdout.contains("sha256sums.txt"), "{}", ran.stdout);
}

#[test]
fn one_other_byte_in_any_file_is_found_and_the_file_named() {
    let world = measured();
    let folder = world.evidence();
    let names = files(&folder);
    assert!(names.len() > 12, "{names:?}");
    // Of the answers one trial's are enough here; the other has the same kinds of files.
    for file in names.iter().filter(|file| !file.to_string_lossy().contains("/arms/head-")) {
        let bytes = fs::read(file).expect("a file");
        let name = file.strip_prefix(&folder).expect("below").display().to_string();
        let mut other = bytes.clone();
        match other.len() {
            // Nothing can be flipped where nothing is.
            0 => other.push(b'x'),
            length => other[length / 2] ^= 1,
        }
        fs::write(file, &other).expect("a file");
        let ran = world.call(&["evidence", "verify", folder.to_str().expect("UTF-8")]);
        assert_eq!(ran.code, Some(1), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(&format!("  {name}: ")), "{name}: {}", ran.stdout);
        fs::write(file, &bytes).expect("a file");
    }
    for file in ["arms/control-1.0-1/steps.json", "suite.toml"] {
        let (from, to) = (folder.join(file), world.path("aside"));
        fs::rename(&from, &to).expect("it moves");
        let ran = world.call(&["evidence", "verify", folder.to_str().expect("UTF-8")]);
        assert_eq!(ran.code, Some(1), "{file}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(file), "{}", ran.stdout);
        fs::rename(&to, &from).expect("it moves");
    }
    fs::write(folder.join("more"), "x").expect("a file");
    let ran = world.call(&["evidence", "verify", folder.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("more"), "{}", ran.stdout);
    fs::remove_file(folder.join("more")).expect("it goes");
    world.verify();
}

#[test]
fn what_is_no_finished_folder_is_exit_code_2() {
    let world = World::new();
    fs::create_dir(world.path("empty")).expect("a folder");
    for folder in ["empty", "none", "repository", "tiny.toml"] {
        let ran = world.call(&["evidence", "verify", folder]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{folder}: {}", ran.stderr);
        assert!(ran.stderr.contains(folder), "{}", ran.stderr);
    }
    assert_eq!(listed(&world.path("empty")), [""; 0]);
}
