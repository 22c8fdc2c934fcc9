//! Git against repositories that mean no good.

// Helpers of tests fail by panicking, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[allow(dead_code)] // each test program uses its own part
mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use domain::ids::CommitSha;
use lab::git::tree::FileAt;
use lab::git::{CheckedOut, CheckoutLimits, GitError, Mirror, Source, TreePath};
use support::{Item, Repo, listing, path};

const FILE: &str = "100644";

fn check_out(mirror: &Mirror, commit: &CommitSha, folder: &Path) -> Result<CheckedOut, GitError> {
    mirror.checkout(commit, folder, &CheckoutLimits::default(), &|| false)
}

fn digest_all(mirror: &Mirror, commit: &CommitSha) -> domain::ids::Digest {
    mirror.tree_digest(commit, |_| true).unwrap()
}

#[test]
fn names_mean_what_they_mean_in_the_repository() {
    let repo = Repo::new();
    let first = repo.commit(&[("a", "1")]);
    let second = repo.commit(&[("a", "2")]);
    repo.git(&["tag", "-a", "-m", "x", "v1", first.as_str()]);
    repo.git(&["update-ref", "refs/remotes/origin/topic", first.as_str()]);
    let mirror = repo.mirror();
    for (name, commit) in [
        ("main", &second),
        ("HEAD", &second),
        ("HEAD~1", &first),
        ("main^", &first),
        ("v1", &first),
        ("origin/topic", &first),
        (first.as_str(), &first),
        (first.short(), &first),
        (&first.as_str().to_uppercase(), &first),
    ] {
        assert_eq!(mirror.resolve(name).as_ref(), Ok(commit), "{name}");
    }
    assert_eq!(mirror.behind(&first, &second), Ok(1));
    assert_eq!(mirror.behind(&second, &first), Ok(0));
    // Fetching again follows the branch, back as well as forth.
    repo.git(&["update-ref", "refs/heads/main", first.as_str()]);
    assert_eq!(repo.mirror().resolve("HEAD"), Ok(first));
}

#[test]
fn names_that_are_none() {
    let repo = Repo::new();
    repo.commit(&[("a", "1")]);
    let mirror = repo.mirror();
    let marker = repo.dir.path().join("marker");
    let exec = format!("--exec=touch {}", marker.display());
    for name in ["", "-", "--all", "--output=x", "-h", &exec, "a\nb", "a\0b", &"x".repeat(501)] {
        assert!(matches!(mirror.resolve(name), Err(GitError::Name { .. })), "{name:?}");
    }
    for name in ["mian", "main..main", "no such", "main:a", "main main", "..", "a b --all"] {
        assert!(matches!(mirror.resolve(name), Err(GitError::UnknownRevision { .. })), "{name:?}");
    }
    let error = mirror.resolve("mian").unwrap_err().to_string();
    assert_eq!(error, "there is no commit \"mian\" among what branches and tags lead to; did you mean \"main\"?");
    let error = mirror.resolve("zzz").unwrap_err().to_string();
    assert_eq!(error, "there is no commit \"zzz\" among what branches and tags lead to");
    assert!(!marker.exists());
}

#[test]
fn a_branch_whose_name_starts_with_a_hyphen_is_left_alone() {
    let repo = Repo::new();
    let commit = repo.commit(&[("a", "1")]);
    std::fs::write(repo.root().join(".git/refs/heads/-evil"), format!("{commit}\n")).unwrap();
    assert_eq!(repo.mirror().resolve("main"), Ok(commit));
}

#[test]
fn merge_bases() {
    let repo = Repo::new();
    let tree = repo.raw_tree(&[(FILE, b"a", &repo.blob(b"a"))]);
    let root = repo.commit_tree(&tree, &[], 100);
    let old = repo.commit_tree(&tree, &[root.as_str()], 200);
    let new = repo.commit_tree(&tree, &[root.as_str()], 300);
    // Merged both ways: old and new are both best common ancestors.
    let left = repo.commit_tree(&tree, &[old.as_str(), new.as_str()], 400);
    let right = repo.commit_tree(&tree, &[new.as_str(), old.as_str()], 500);
    let stranger = repo.commit_tree(&tree, &[], 600);
    for (name, commit) in [("left", &left), ("right", &right), ("stranger", &stranger)] {
        repo.git(&["update-ref", &format!("refs/heads/{name}"), commit.as_str()]);
    }
    let mirror = repo.mirror();
    for (one, other) in [(&left, &right), (&right, &left)] {
        let bases = mirror.merge_bases(one, other).unwrap();
        assert_eq!((&bases.taken, &bases.all), (&new, &vec![new.clone(), old.clone()]));
    }
    assert_eq!(mirror.merge_bases(&left, &old).unwrap().all, [old]);
    let error = mirror.merge_bases(&left, &stranger).unwrap_err();
    assert!(matches!(error, GitError::Unrelated { shallow: false, .. }), "{error}");
    // At the same second the least id is taken.
    let twins =
        [repo.commit_tree(&tree, &[root.as_str()], 700), repo.commit_tree(&tree, &[root.as_str(), left.as_str()], 700)];
    let (one, other) = (twins[0].as_str(), twins[1].as_str());
    let tops = [repo.commit_tree(&tree, &[one, other], 800), repo.commit_tree(&tree, &[other, one], 801)];
    for (name, commit) in [("x", &tops[0]), ("y", &tops[1])] {
        repo.git(&["update-ref", &format!("refs/heads/{name}"), commit.as_str()]);
    }
    let bases = repo.mirror().merge_bases(&tops[0], &tops[1]).unwrap();
    assert_eq!(Some(&bases.taken), twins.iter().min());
}

#[test]
fn a_shallow_clone_says_so() {
    let repo = Repo::new();
    repo.commit(&[("a", "1")]);
    let fork = repo.commit(&[("a", "2")]);
    repo.git(&[
        "update-ref",
        "refs/heads/topic",
        repo.commit_tree(&repo.git(&["write-tree"]), &[fork.as_str()], 9).as_str(),
    ]);
    repo.commit(&[("a", "3")]);
    let url = format!("file://{}", repo.root().display());
    repo.git(&["clone", "--quiet", "--depth=1", "--no-single-branch", &url, "../shallow"]);
    let mirror = Mirror::open(&repo.dir.path().join("mirror"), &path()).unwrap();
    mirror.fetch(&Source::folder(&repo.dir.path().join("shallow")).unwrap()).unwrap();
    assert!(mirror.is_shallow());
    let (one, other) = (mirror.resolve("main").unwrap(), mirror.resolve("origin/topic").unwrap());
    let error = mirror.merge_bases(&one, &other).unwrap_err();
    assert!(matches!(error, GitError::Unrelated { shallow: true, .. }) && error.to_string().contains("--unshallow"));
}

#[test]
fn what_changed_between_commits() {
    let repo = Repo::new();
    let one = repo.commit(&[("a", "same"), ("b/c", "1"), ("docs/x", "1"), ("moved", "the same text in another place")]);
    let other =
        repo.commit(&[("a", "same"), ("b/c", "2"), ("docs/x", "1"), ("place", "the same text in another place")]);
    let docs =
        repo.commit(&[("a", "same"), ("b/c", "2"), ("docs/x", "2"), ("place", "the same text in another place")]);
    let mirror = repo.mirror();
    let changed: Vec<String> =
        mirror.changed_paths(&one, &other).unwrap().iter().map(|path| path.text().into_owned()).collect();
    assert_eq!(changed, ["b/c", "moved", "place"]);
    assert_eq!(mirror.changed_paths(&one, &one), Ok(vec![]));
    let counts = |path: &TreePath| !path.bytes().starts_with(b"docs/");
    let digest = |commit| mirror.tree_digest(commit, counts).unwrap();
    assert_eq!(digest(&other), digest(&docs));
    assert_ne!(digest(&one), digest(&other));
    assert_ne!(digest_all(&mirror, &other), digest_all(&mirror, &docs));
    assert_ne!(mirror.tree_id(&other), mirror.tree_id(&docs));
}

#[test]
fn files_at_a_commit() {
    let repo = Repo::new();
    let (blob, odd) = (repo.blob(b"content"), repo.blob(b"odd"));
    let inner = repo.raw_tree(&[(FILE, b"f", &blob)]);
    let sub = "1".repeat(40);
    let items: [Item<'_>; 5] = [
        (FILE, b"-rf", &odd),
        (FILE, b":(glob)*", &odd),
        (FILE, b"a\nb", &odd),
        ("40000", b"d", &inner),
        ("160000", b"sub", &sub),
    ];
    let (mirror, commit) = repo.mirrored(&repo.raw_tree(&items));
    let read = |path: &[u8]| mirror.read_file(&commit, &TreePath::new(path), 7);
    assert_eq!(read(b"d/f"), Ok(FileAt::Content(b"content".to_vec())));
    for name in [&b"-rf"[..], b":(glob)*", b"a\nb"] {
        assert_eq!(read(name), Ok(FileAt::Content(b"odd".to_vec())), "{name:?}");
    }
    assert_eq!(mirror.read_file(&commit, &TreePath::new("d/f"), 6), Ok(FileAt::TooLarge(7)));
    assert_eq!((read(b"d"), read(b"sub")), (Ok(FileAt::NoFile), Ok(FileAt::NoFile)));
    assert_eq!((read(b"x"), read(b"*"), read(b"d/f/g")), (Ok(FileAt::Absent), Ok(FileAt::Absent), Ok(FileAt::Absent)));
    for bad in [&b""[..], b"/etc/passwd", b"../x", b".git/config"] {
        assert!(matches!(read(bad), Err(GitError::UnsafePath { .. })), "{bad:?}");
    }
}

#[test]
fn a_checkout_is_the_commit() {
    let repo = Repo::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let files = [
        ("README", "r"),
        ("readme", "other case"),
        ("bin/run.sh", "#!/bin/sh\n"),
        ("crlf", "a\r\nb\n"),
        ("big.bin", pointer),
        ("empty", ""),
    ];
    let commit = repo.commit(&files);
    let folder = repo.folder("out");
    let made = check_out(&repo.mirror(), &commit, &folder).unwrap();
    let bytes = files.iter().map(|(_, content)| content.len() as u64).sum();
    assert_eq!(made, CheckedOut { files: 6, bytes, lfs_pointers: 1, ..CheckedOut::default() });
    for (name, content) in files {
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), content);
    }
    let mode = |name| std::fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o111;
    assert!(mode("bin/run.sh") != 0 && mode("README") == 0);
}

#[test]
fn odd_names_are_written_as_they_are() {
    let repo = Repo::new();
    let blob = repo.blob(b"x");
    let names: [&[u8]; 6] = [b" ", b"--help", b"-rf", b"a\nb", b"caf\xe9", b"\xff\xfe"];
    let items: Vec<Item<'_>> = names.iter().map(|name| (FILE, *name, blob.as_str())).collect();
    let (mirror, commit) = repo.mirrored(&repo.raw_tree(&items));
    let folder = repo.folder("out");
    assert_eq!(check_out(&mirror, &commit, &folder).unwrap().files, 6);
    for name in names {
        assert_eq!(std::fs::read(folder.join(OsStr::from_bytes(name))).unwrap(), b"x", "{name:?}");
    }
    let empty = repo.commit_tree(&repo.raw_tree(&[]), &[], 5);
    repo.git(&["update-ref", "refs/heads/empty", empty.as_str()]);
    let changed = repo.mirror().changed_paths(&empty, &commit).unwrap();
    assert_eq!(changed.iter().map(TreePath::bytes).collect::<Vec<_>>(), names);
}

#[test]
fn trees_that_must_not_be_written() {
    let repo = Repo::new();
    let blob = repo.blob(b"[core]\n\tfsmonitor = touch marker\n");
    let inner = repo.raw_tree(&[(FILE, b"config", &blob)]);
    let deep = repo.raw_tree(&[("40000", b".git", &inner)]);
    let (target, link) = (repo.folder("outside"), repo.dir.path().join("outside"));
    let link = repo.blob(link.as_os_str().as_bytes());
    let trees: Vec<Vec<Item<'_>>> = vec![
        vec![("40000", b".git", &inner)],
        vec![("40000", b".GIT", &inner)],
        vec![("40000", b".gIt", &inner)],
        vec![("40000", b"git~1", &inner)],
        vec![("40000", ".g\u{200c}it".as_bytes(), &inner)],
        vec![("40000", b".git ", &inner)],
        vec![("40000", b"d", &deep)],
        vec![(FILE, b".git", &blob)],
        vec![("120000", b".git", &link)],
        vec![(FILE, b"..", &blob)],
        vec![("40000", b"..", &inner)],
        vec![(FILE, b".", &blob)],
        vec![(FILE, b"../outside/x", &blob)],
        vec![(FILE, b"/tmp/zephyr-ab-marker", &blob)],
        vec![(FILE, b"a//b", &blob)],
        // A link and, through it, a file outside.
        vec![("120000", b"a", &link), (FILE, b"a/x", &blob)],
        vec![("120000", b"a", &link), ("40000", b"a", &inner)],
        vec![(FILE, b"a", &blob), (FILE, b"a", &blob)],
        vec![("160000", b".git", "1111111111111111111111111111111111111111")],
    ];
    for (index, items) in trees.iter().enumerate() {
        // Not every version of git hands over such a tree; then there is nothing to check out.
        let commit = repo.commit_tree(&repo.raw_tree(items), &[], 7);
        repo.git(&["update-ref", "refs/heads/main", commit.as_str()]);
        let mirror = repo.mirror();
        let folder = repo.folder(&format!("out{index}"));
        let error = check_out(&mirror, &commit, &folder).unwrap_err();
        assert!(matches!(error, GitError::UnsafePath { .. }), "{items:?}: {error}");
        assert_eq!(listing(&folder), [""; 0], "{items:?}");
    }
    assert_eq!(listing(&target), [""; 0]);
    assert!(!Path::new("/tmp/zephyr-ab-marker").exists());
}

#[test]
fn links_that_leave_the_tree_are_files_and_submodules_are_left_out() {
    let repo = Repo::new();
    let target = |text: &str| repo.blob(text.as_bytes());
    let [inside, absolute, above, top, chain, file] =
        ["d/f", "/etc/passwd", "../../secret", "../top", "d/up/../..", "content"].map(target);
    let inner = repo.raw_tree(&[("120000", b"above", &above), (FILE, b"f", &file), ("120000", b"up", &top)]);
    let sub = "1".repeat(40);
    let items: [Item<'_>; 5] = [
        ("120000", b"absolute", &absolute),
        ("120000", b"chain", &chain),
        ("40000", b"d", &inner),
        ("120000", b"inside", &inside),
        ("160000", b"sub", &sub),
    ];
    let (mirror, commit) = repo.mirrored(&repo.raw_tree(&items));
    let folder = repo.folder("out");
    let made = check_out(&mirror, &commit, &folder).unwrap();
    let names = |paths: &[TreePath]| paths.iter().map(|path| path.text().into_owned()).collect::<Vec<_>>();
    assert_eq!(names(&made.plain_links), ["absolute", "chain", "d/above"]);
    assert_eq!(names(&made.submodules), ["sub"]);
    let expected = [
        "absolute = /etc/passwd",
        "chain = d/up/../..",
        "d/",
        "d/above = ../../secret",
        "d/f = content",
        "d/up -> ../top",
        "inside -> d/f",
        "sub/",
    ];
    assert_eq!(listing(&folder), expected);
    assert_eq!(std::fs::read_to_string(folder.join("inside")).unwrap(), "content");
}

#[test]
fn sizes_are_limited_before_anything_is_written() {
    let repo = Repo::new();
    let commit = repo.commit(&[("a", "12345"), ("b", "12345")]);
    let mirror = repo.mirror();
    let fits = CheckoutLimits { paths: 2, file_bytes: 5, bytes: 10 };
    for (limits, message) in [
        (CheckoutLimits { paths: 1, ..fits }, "the tree is larger than the limit of 1 paths"),
        (CheckoutLimits { file_bytes: 4, ..fits }, "the file \"a\" is larger than the limit of 4 bytes"),
        (CheckoutLimits { bytes: 9, ..fits }, "the tree is larger than the limit of 9 bytes"),
    ] {
        let folder = repo.folder(&message.replace(['"', '/'], ""));
        let error = mirror.checkout(&commit, &folder, &limits, &|| false).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(listing(&folder), [""; 0]);
    }
    let folder = repo.folder("stopped");
    assert_eq!(mirror.checkout(&commit, &folder, &fits, &|| true), Err(GitError::Stopped));
    assert!(mirror.checkout(&commit, &repo.folder("fits"), &fits, &|| false).is_ok());
}

#[test]
fn a_huge_file_is_streamed() {
    let repo = Repo::new();
    let line = b"0123456789abcde\n".repeat(1 << 16);
    let blob = repo.blob(&line.repeat(64));
    let (mirror, commit) = repo.mirrored(&repo.raw_tree(&[(FILE, b"huge", &blob)]));
    let folder = repo.folder("out");
    assert_eq!(check_out(&mirror, &commit, &folder).unwrap().bytes, 64 << 20);
    assert_eq!(std::fs::metadata(folder.join("huge")).unwrap().len(), 64 << 20);
    assert_eq!(mirror.read_file(&commit, &TreePath::new("huge"), 1000), Ok(FileAt::TooLarge(64 << 20)));
}

/// A script that leaves a marker.
fn trap(repo: &Repo, name: &str) -> String {
    let script = repo.dir.path().join(name);
    let text = format!("#!/bin/sh\ntouch '{}/fired-{name}'\ncat\n", repo.dir.path().display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

#[test]
fn nothing_of_the_repository_is_executed() {
    let repo = Repo::new();
    let attributes = "* filter=evil diff=evil merge=evil ident text working-tree-encoding=UTF-16 export-subst\n";
    let one = repo.commit(&[
        (".gitattributes", attributes),
        ("a", "$Id$\n"),
        (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% marker\n"),
    ]);
    let other = repo.commit(&[(".gitattributes", attributes), ("a", "$Id$ 2\n")]);
    let config = [
        ("filter.evil.smudge", "smudge"),
        ("filter.evil.clean", "clean"),
        ("filter.evil.process", "process"),
        ("diff.evil.textconv", "textconv"),
        ("diff.evil.command", "command"),
        ("diff.external", "external"),
        ("core.fsmonitor", "fsmonitor"),
        ("core.sshCommand", "ssh"),
        ("core.pager", "pager"),
        ("core.editor", "editor"),
        ("core.gitProxy", "proxy"),
        ("core.alternateRefsCommand", "alternates"),
        ("uploadpack.packObjectsHook", "pack"),
        ("credential.helper", "credential"),
        ("gpg.program", "gpg"),
        ("alias.ls-tree", "alias"),
    ];
    for (key, name) in config {
        repo.git(&["config", key, &trap(&repo, name)]);
    }
    let included = repo.dir.path().join("included");
    std::fs::write(&included, format!("[core]\n\thooksPath = {}\n", repo.dir.path().join("hooks").display())).unwrap();
    repo.git(&["config", "include.path", &included.display().to_string()]);
    repo.git(&["config", "log.showSignature", "true"]);
    for hooks in [repo.folder("hooks"), repo.root().join(".git/hooks")] {
        std::fs::create_dir_all(&hooks).unwrap();
        for hook in ["post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change", "fsmonitor-watchman"]
        {
            std::fs::copy(trap(&repo, &format!("hook-{hook}")), hooks.join(hook)).unwrap();
        }
    }
    let before = listing(&repo.root());
    let mirror = repo.mirror();
    assert_eq!(mirror.merge_bases(&one, &other).unwrap().taken, one);
    assert_eq!(mirror.changed_paths(&one, &other).unwrap().len(), 2);
    assert!(matches!(mirror.read_file(&one, &TreePath::new("a"), 99), Ok(FileAt::Content(_))));
    digest_all(&mirror, &one);
    let folder = repo.folder("out");
    check_out(&mirror, &one, &folder).unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap(), "$Id$\n");
    let fired: Vec<String> = listing(repo.dir.path()).into_iter().filter(|line| line.starts_with("fired-")).collect();
    assert_eq!(fired, [""; 0]);
    assert_eq!(listing(&repo.root()), before, "the repository was written to");
}

#[test]
fn the_environment_and_the_user_have_no_say() {
    // The variables would point every call elsewhere or run something; the test program itself must not have them.
    let repo = Repo::new();
    let commit = repo.commit(&[("a", "1")]);
    std::fs::write(repo.dir.path().join("mirror-config"), "x").unwrap();
    let home = repo.dir.path().join("mirror/home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(
        home.join(".gitconfig"),
        format!("[core]\n\tfsmonitor = {}\n[alias]\n\tx = y\n[broken", trap(&repo, "home")),
    )
    .unwrap();
    // Even a configuration in the empty home, were there one, is not read: this one would be a syntax error.
    assert_eq!(repo.mirror().resolve("main"), Ok(commit));
}

#[test]
fn replaced_and_borrowed_objects() {
    let repo = Repo::new();
    let commit = repo.commit(&[("a", "honest")]);
    let fake = repo.blob(b"fake");
    repo.git(&["update-ref", &format!("refs/replace/{}", repo.blob(b"honest")), &fake]);
    // A second repository that has its objects from the first by an alternate.
    let url = repo.root().display().to_string();
    repo.git(&["clone", "--quiet", "--shared", "--no-checkout", &url, "../borrower"]);
    let mirror = Mirror::open(&repo.dir.path().join("mirror"), &path()).unwrap();
    mirror.fetch(&Source::folder(&repo.dir.path().join("borrower")).unwrap()).unwrap();
    std::fs::remove_dir_all(repo.dir.path().join("borrower")).unwrap();
    std::fs::remove_dir_all(repo.root()).unwrap();
    let folder = repo.folder("out");
    check_out(&mirror, &commit, &folder).unwrap();
    assert_eq!(listing(&folder), ["a = honest"]);
}

#[test]
fn a_mirror_does_not_borrow_from_where_a_tree_tells_it_to() {
    let repo = Repo::new();
    let commit = repo.commit(&[("objects/info/alternates", "/nowhere\n"), ("a", "1")]);
    let mirror = repo.mirror();
    assert!(!mirror.dir().join("objects/info/alternates").exists());
    assert_eq!(mirror.list(&commit).unwrap().len(), 2);
}

#[test]
fn broken_repositories_are_errors() {
    let repo = Repo::new();
    let mirror = Mirror::open(&repo.dir.path().join("mirror"), &path()).unwrap();
    // No commit at all is fine to fetch and has no HEAD.
    mirror.fetch(&Source::folder(&repo.root()).unwrap()).unwrap();
    assert!(matches!(mirror.resolve("HEAD"), Err(GitError::UnknownRevision { .. })));
    let absent: CommitSha = "2".repeat(40).parse().unwrap();
    assert!(matches!(mirror.list(&absent), Err(GitError::Failed { .. })));
    assert!(matches!(mirror.merge_bases(&absent, &absent), Err(GitError::Failed { .. })));
    let source = Source::folder(&repo.root()).unwrap();
    assert!(matches!(mirror.fetch_commit(&source, &absent), Err(GitError::Failed { .. })));
    // An object that is not there.
    let commit = repo.commit(&[("a", "1"), ("b", "2")]);
    let blob = repo.blob(b"2");
    let mirror = repo.mirror();
    let loose = repo.root().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::remove_file(loose).unwrap();
    assert!(check_out(&mirror, &commit, &repo.folder("whole")).is_ok());
    let other = Mirror::open(&repo.dir.path().join("other"), &path()).unwrap();
    assert!(matches!(other.fetch(&source), Err(GitError::Failed { .. })));
    std::fs::create_dir_all(repo.dir.path().join("fake/.git")).unwrap();
    let fake = Source::folder(&repo.dir.path().join("fake")).unwrap();
    let error = other.fetch(&fake).unwrap_err();
    assert!(matches!(&error, GitError::Failed { .. }) && error.to_string().contains("git fetch failed"), "{error}");
}

#[test]
fn a_commit_that_no_branch_leads_to() {
    let repo = Repo::new();
    repo.commit(&[("a", "1")]);
    let lone = repo.commit_tree(&repo.git(&["write-tree"]), &[], 77);
    let mirror = repo.mirror();
    assert!(mirror.resolve(lone.as_str()).is_err());
    mirror.fetch_commit(&Source::folder(&repo.root()).unwrap(), &lone).unwrap();
    assert_eq!(mirror.resolve(lone.as_str()), Ok(lone));
}

#[test]
fn worktrees_and_folders_inside_a_repository() {
    let repo = Repo::new();
    let first = repo.commit(&[("a/b", "1")]);
    repo.git(&["worktree", "add", "--quiet", "--detach", "../tree", "main"]);
    let second = repo.commit(&[("a/b", "2")]);
    for (dir, commit) in [("tree", &first), ("tree/a", &first), ("repo", &second), ("repo/.git", &second)] {
        let mirror = Mirror::open(&repo.dir.path().join(dir.replace('/', "-") + "-mirror"), &path()).unwrap();
        mirror.fetch(&Source::of(&repo.dir.path().join(dir).display().to_string()).unwrap()).unwrap();
        assert_eq!(mirror.resolve("HEAD").as_ref(), Ok(commit), "{dir}");
    }
}

#[test]
fn a_call_that_takes_too_long_is_killed() {
    let repo = Repo::new();
    let bin = repo.folder("bin");
    let script = bin.join("git");
    std::fs::write(&script, "#!/bin/sh\nsleep 1000 & sleep 1000\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mirror = repo.mirror();
    drop(mirror);
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path()))).unwrap();
    let mirror = Mirror::open(&repo.dir.path().join("mirror"), &path).unwrap().with_limit(Duration::from_millis(50));
    assert!(matches!(mirror.resolve("main"), Err(GitError::TimeLimit { .. })));
    let none = Mirror::open(&repo.dir.path().join("fresh"), OsStr::new("/nonexistent"));
    assert!(matches!(none, Err(GitError::NoGit(_))));
}
