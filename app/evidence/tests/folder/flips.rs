//! Whatever is changed in a sealed folder is found, with the name of the file.

use std::collections::BTreeMap;

use evidence::{MemoryStorage, Storage as _, verify};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use crate::support::*;

fn sealed() -> MemoryStorage {
    let (folder, plan) = (folder(), plan(&["head"], &[3]));
    whole(&folder, &plan, 3, 1.3);
    moved(folder.storage())
}

/// Flips `count` bytes, one at a time and each by a random mask, files taken in turn so that small ones are not missed.
fn flips(count: usize) {
    let (storage, templates) = (sealed(), templates());
    let files = storage.list("").unwrap();
    let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for n in 0..count {
        let file = &files[n % files.len()];
        let bytes = storage.read(file).unwrap().unwrap();
        let mut below = |limit: usize| usize::try_from(rng.next_u64() % limit as u64).unwrap();
        let (at, mask) = (below(bytes.len()), u8::try_from(below(255) + 1).unwrap());
        let mut changed = bytes.clone();
        changed[at] ^= mask;
        storage.write(file, &changed).unwrap();
        let verified = verify(&storage, &templates).unwrap();
        let named = verified.problems.iter().any(|problem| problem.file == *file);
        assert!(named, "byte {at} of {file} by {mask:#04x}: {:?}", verified.problems);
        // The file that has changed, and no other.
        assert!(verified.problems.iter().all(|p| p.file == *file), "byte {at} of {file}: {:?}", verified.problems);
        *found.entry(file.rsplit('/').next().unwrap().to_owned()).or_default() += 1;
        storage.write(file, &bytes).unwrap();
    }
    println!("{count} of {count} flipped bytes found: {found:?}");
    assert!(verify(&storage, &templates).unwrap().is_fine());
}

#[test]
fn every_flipped_byte_is_found_and_its_file_named() {
    flips(600);
}

#[test]
#[ignore = "seconds in all: tests/bench/flips.sh"]
fn ten_thousand_flipped_bytes_are_found_and_their_files_named() {
    flips(10_000);
}

#[test]
fn missing_and_extra_files_are_named() {
    let (storage, templates) = (sealed(), templates());
    for file in storage.list("").unwrap() {
        let bytes = storage.read(&file).unwrap().unwrap();
        storage.remove(&file).unwrap();
        let verified = verify(&storage, &templates).unwrap();
        assert!(verified.problems.iter().any(|p| p.file == file && p.what == "is missing"), "{:?}", verified.problems);
        storage.write(&file, &bytes).unwrap();
        if bytes.len() > 1 {
            storage.write(&file, &bytes[..bytes.len() - 1]).unwrap();
            let verified = verify(&storage, &templates).unwrap();
            assert!(verified.problems.iter().any(|p| p.file == file), "{file}: {:?}", verified.problems);
            storage.write(&file, &bytes).unwrap();
        }
    }
    for extra in ["extra.json", "arms/control-1.0-1/extra", "x~", "arms/control-9.0-1/steps.json"] {
        storage.write(extra, b"{}").unwrap();
        let verified = verify(&storage, &templates).unwrap();
        let shown: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown, [format!("{extra}: does not belong here")]);
        storage.remove(extra).unwrap();
    }
}

/// Whoever changes an answer and every digest that knows it still has the wrong digest in the comment that was posted;
/// and if that is changed, too, the numbers no longer follow from the answers.
#[test]
fn numbers_that_do_not_follow_from_the_answers_are_found() {
    let (storage, templates) = (sealed(), templates());
    let answer = "arms/head-1.0-2/steps.json";
    let steps = String::from_utf8(storage.read(answer).unwrap().unwrap()).unwrap();
    storage.write(answer, steps.replacen("\"items\":1000", "\"items\":1001", 2).as_bytes()).unwrap();
    reseal(&storage);
    let verified = verify(&storage, &templates).unwrap();
    let shown: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
    let expected = "evidence.json: case.rounds[0].treatment.stages.merge.items is 1000 and should be 1001";
    assert!(shown.contains(&expected.to_owned()), "{shown:?}");
}

/// Makes all digests fit again, as somebody would who wants to hide a change.
pub(crate) fn reseal(storage: &MemoryStorage) {
    use domain::ids::Digest;
    use evidence::sums::{self, Sums};
    let read = |name: &str| storage.read(name).unwrap().unwrap();
    let before = Digest::of(&read("evidence.json"));
    let mut document = String::from_utf8(read("evidence.json")).unwrap();
    let mut all = sums::read(&read("sha256sums.txt")).unwrap();
    for (name, digest) in all.clone() {
        let now = Digest::of(&read(&name));
        if name != "evidence.json" && name != "comment.md" {
            document = document.replace(digest.as_str(), now.as_str());
        }
    }
    storage.write("evidence.json", document.as_bytes()).unwrap();
    let after = Digest::of(document.as_bytes());
    let comment = String::from_utf8(read("comment.md")).unwrap();
    let comment = comment.replace(&before.as_str()[..12], &after.as_str()[..12]);
    storage.write("comment.md", comment.as_bytes()).unwrap();
    all = all.keys().map(|name| (name.clone(), Digest::of(&read(name)))).collect::<Sums>();
    storage.write("sha256sums.txt", sums::write(&all).as_bytes()).unwrap();
}
