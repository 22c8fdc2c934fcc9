//! On a disk: moved, read-only, links, and `sha256sum -c`.

use std::fs;
use std::path::Path;

use domain::ports::Records as _;
use evidence::{DiskStorage, EvidenceError, Storage as _, verify};

use crate::support::*;

fn all(folder: &Path, change: &dyn Fn(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, change);
        }
        change(&path);
    }
}

#[test]
fn a_folder_may_be_moved_and_kept_read_only() {
    let out = tempfile::tempdir().unwrap();
    let plan = plan(&["head"], &[3]);
    let folder = on(DiskStorage::new(out.path().join("runs")));
    let (_, sealed) = whole(&folder, &plan, 3, 1.3);
    let home = out.path().join("runs").join(plan.run.as_str());
    assert!(home.is_dir() && !out.path().join("runs").join(format!("{}.open", plan.run)).exists());
    // The same bytes as in memory.
    let memory = crate::support::folder();
    assert_eq!(whole(&memory, &plan, 3, 1.3).1, sealed);
    let alone = moved(memory.storage());
    let disk = DiskStorage::new(&home);
    assert_eq!(alone.list("").unwrap(), disk.list("").unwrap());
    for file in disk.list("").unwrap() {
        let bytes = disk.read(&file).unwrap().unwrap();
        assert_eq!(Some(&bytes), alone.read(&file).unwrap().as_ref(), "{file}");
        assert!(!String::from_utf8_lossy(&bytes).contains(out.path().to_str().unwrap()), "{file} names where it was");
    }
    let elsewhere = out.path().join("some where else");
    fs::rename(&home, &elsewhere).unwrap();
    let read_only = |path: &Path| {
        let mut rights = fs::metadata(path).unwrap().permissions();
        rights.set_readonly(true);
        fs::set_permissions(path, rights).unwrap();
    };
    all(&elsewhere, &read_only);
    let verified = verify(&DiskStorage::new(&elsewhere), &templates()).unwrap();
    assert_eq!(verified.problems, []);
    let mut sha256sum = std::process::Command::new("sha256sum");
    sha256sum.args(["-c", "--strict", "--quiet", "sha256sums.txt"]).current_dir(&elsewhere);
    // Where there is such a program.
    if let Ok(checked) = sha256sum.output() {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
    // So that it can be removed.
    all(&elsewhere, &|path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    });
}

#[test]
fn what_is_no_evidence_folder() {
    let out = tempfile::tempdir().unwrap();
    let refused = |path: &Path| {
        let error = verify(&DiskStorage::new(path), &templates()).unwrap_err();
        assert!(matches!(error, EvidenceError::NotEvidence(_)), "{error}");
        error.to_string()
    };
    refused(out.path());
    refused(&out.path().join("nothing"));
    fs::write(out.path().join("file"), "x").unwrap();
    refused(&out.path().join("file"));
    let plan = plan(&["head"], &[3]);
    on(DiskStorage::new(out.path())).open(&plan).unwrap();
    let why = refused(&out.path().join(format!("{}.open", plan.run)));
    assert!(why.starts_with("the run goes on, or was broken off"), "{why}");
}

#[test]
fn links_are_not_followed() {
    let out = tempfile::tempdir().unwrap();
    let plan = plan(&["head"], &[3]);
    whole(&on(DiskStorage::new(out.path())), &plan, 3, 1.3);
    let home = out.path().join(plan.run.as_str());
    let answer = home.join("arms/control-1.0-1/steps.json");
    let copy = out.path().join("copy.json");
    fs::rename(&answer, &copy).unwrap();
    std::os::unix::fs::symlink(&copy, &answer).unwrap();
    let error = verify(&DiskStorage::new(&home), &templates()).unwrap_err();
    assert_eq!(error.to_string(), ".: steps.json is neither a file nor a folder");
}
