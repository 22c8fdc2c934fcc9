//! Workspaces of commits that mean no good, and of ordinary ones against Python.

// Helpers of tests fail by panicking, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[allow(dead_code)] // each test program uses its own part
mod support;

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use domain::ids::{CommitSha, Digest};
use lab::bundle::{Bundle, BundleError, Bundler, Overlay};
use lab::git::{GitError, Mirror, Source, TreePath};
use support::{Repo, listing, path};
use zip::ZipArchive;

const FILE: &str = "100644";
const LINK: &str = "120000";

/// The names and contents of a bundle, after looking at everything else in it.
fn content(bundle: &Bundle) -> BTreeMap<String, Vec<u8>> {
    assert_eq!(bundle.id, Digest::of(&bundle.bytes).as_str());
    let mut archive = ZipArchive::new(Cursor::new(&bundle.bytes[..])).unwrap();
    let mut found = BTreeMap::new();
    let mut before = String::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).unwrap();
        let name = file.name().unwrap().to_string();
        assert!(before < name, "{before} {name}");
        assert!(matches!(file.unix_mode(), Some(0o100_644 | 0o100_755)) && file.is_file(), "{name}");
        assert_eq!(file.last_modified(), Some(zip::DateTime::DEFAULT));
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        before.clone_from(&name);
        found.insert(name, bytes);
    }
    assert_eq!(found.len() as u64, bundle.files);
    found
}

fn texts(bundle: &Bundle) -> Vec<String> {
    let content = content(bundle);
    content.into_iter().map(|(name, bytes)| format!("{name}={}", String::from_utf8_lossy(&bytes))).collect()
}

fn skipped(bundle: &Bundle) -> Vec<String> {
    bundle.skipped.iter().map(ToString::to_string).collect()
}

fn bundle(mirror: &Mirror, commit: &CommitSha) -> Result<Bundle, BundleError> {
    Bundler::new(mirror.clone()).bundle(commit, None)
}

fn overlay(commit: &CommitSha, paths: &[&str]) -> Overlay {
    Overlay { commit: commit.clone(), paths: paths.iter().map(|path| TreePath::new(*path)).collect() }
}

#[test]
fn files_modes_and_rules() {
    let repo = Repo::new();
    let commit = repo.commit(&[
        ("a.py", "a\r\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("x/empty", ""),
        ("caf\u{e9}/\u{4e2d}.txt", "utf"),
        ("back\\slash", "b"),
        ("docs/a.md", "d"),
        ("tests/data/t.txt", "t"),
        ("tests/data/t.pyc", "never"),
        ("tests/a.py", "ta"),
        ("x/secret.key", "s"),
        ("pyproject.toml", "[tool.iris.bundle]\ninclude = ['tests/data/*']\nexclude = ['\\.key$']\n"),
    ]);
    let bundle = bundle(&repo.mirror(), &commit).unwrap();
    assert_eq!(bundle.skipped, []);
    let mut content = content(&bundle);
    content.remove("pyproject.toml").unwrap();
    let names: Vec<&str> = content.keys().map(String::as_str).collect();
    assert_eq!(names, ["a.py", "back\\slash", "caf\u{e9}/\u{4e2d}.txt", "run.sh", "tests/data/t.txt", "x/empty"]);
    assert_eq!(content["a.py"], b"a\r\n");
    let mut archive = ZipArchive::new(Cursor::new(&bundle.bytes[..])).unwrap();
    for (name, mode) in [("a.py", 0o100_644), ("run.sh", 0o100_755)] {
        assert_eq!(archive.by_name(name).unwrap().unix_mode(), Some(mode), "{name}");
    }
}

#[test]
fn an_empty_tree() {
    let repo = Repo::new();
    let (mirror, commit) = repo.mirrored(&repo.raw_tree(&[]));
    let empty = bundle(&mirror, &commit).unwrap();
    assert_eq!((content(&empty).len(), empty.files, empty.bytes.len()), (0, 0, 22));
}

#[test]
fn same_commit_same_bytes() {
    let repo = Repo::new();
    // Large enough that it is compressed while it is read.
    let numbers: Vec<String> = (0..400_000_u64).map(|n| (n * n % 65_521).to_string()).collect();
    let large = numbers.join(" ");
    assert!(large.len() > 1_900_000);
    let files: Vec<(String, String)> =
        (0..300).map(|n| (format!("src/{}/f{n}.py", n % 7), large[n * 1000..n * 1000 + n * 37].to_owned())).collect();
    let mut named: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let twice = large.repeat(2);
    named.push(("large", &twice));
    named.push(("large.sh", &twice));
    let one = repo.commit(&named);
    named[5].1 = "changed";
    named.push(("new", "new"));
    let two = repo.commit(&named);
    let mirror = repo.mirror();

    let cold = Bundler::new(mirror);
    let first = cold.bundle(&one, None).unwrap();
    let second = cold.bundle(&two, None).unwrap();
    assert_eq!(cold.bundle(&one, None).unwrap(), first);
    assert_ne!(first.id, second.id);
    let content = content(&second);
    assert_eq!((content["large"].as_slice(), content["new"].as_slice()), (twice.as_bytes(), &b"new"[..]));
    assert_eq!((content["large.sh"].as_slice(), content.len()), (twice.as_bytes(), 303));

    // Another mirror, the other order, and threads that share what they compress.
    let other = Mirror::open(&repo.dir.path().join("other"), &path()).unwrap();
    other.fetch(&Source::folder(&repo.root()).unwrap()).unwrap();
    let shared = Bundler::new(other);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(shared.bundle(&two, None).unwrap(), second));
            scope.spawn(|| assert_eq!(shared.bundle(&one, None).unwrap(), first));
        }
    });
    let over = shared.bundle(&one, Some(&overlay(&two, &["new", "src"]))).unwrap();
    assert_eq!(over, second);
}

#[test]
fn overlays() {
    let repo = Repo::new();
    let base = repo.commit(&[("a", "1"), ("bench/x", "1"), ("bench/old", "1"), ("gone", "1"), ("kept", "1")]);
    let project = "[tool.iris.bundle]\nexclude = ['^kept$']\n";
    let other = repo.commit(&[("a", "2"), ("bench/x", "2"), ("bench/new/y", "2"), ("pyproject.toml", project)]);
    let bundler = Bundler::new(repo.mirror());
    let with = |paths: &[&str]| texts(&bundler.bundle(&base, Some(&overlay(&other, paths))).unwrap());
    assert_eq!(with(&[]), ["a=1", "bench/old=1", "bench/x=1", "gone=1", "kept=1"]);
    assert_eq!(with(&["bench", "gone"]), ["a=1", "bench/new/y=2", "bench/x=2", "kept=1"]);
    assert_eq!(with(&["a", "none"]), ["a=2", "bench/old=1", "bench/x=1", "gone=1", "kept=1"]);
    // The rules are those of the tree that is bundled.
    let project = format!("pyproject.toml={project}");
    assert_eq!(with(&["pyproject.toml"]), ["a=1", "bench/old=1", "bench/x=1", "gone=1", &project]);
    for bad in ["../a", "/a", "a/", "", ".git/config"] {
        let error = bundler.bundle(&base, Some(&overlay(&other, &[bad]))).unwrap_err();
        assert!(matches!(error, BundleError::Path { .. }), "{bad:?}: {error}");
    }
}

#[test]
fn links_and_submodules() {
    let repo = Repo::new();
    let blob = |text: &str| repo.blob(text.as_bytes());
    let (run, page) = (blob("#!/bin/sh\n"), blob("page"));
    let docs = repo.raw_tree(&[(FILE, b"page.md", &page)]);
    let sub = repo.raw_tree(&[(LINK, b"out", &blob("../../x")), (LINK, b"up", &blob("../run"))]);
    let project = blob("[tool.iris.bundle]\nexclude = ['^left-out$']");
    let tree = repo.raw_tree(&[
        (LINK, b"absolute", &blob("/etc/passwd")),
        (LINK, b"circle", &blob("circle")),
        (LINK, b"dangling", &blob("nothing")),
        ("40000", b"docs", &docs),
        (LINK, b"left-out", &blob("run")),
        // Where it leads to is not bundled itself.
        (LINK, b"page", &blob("./docs/page.md")),
        (FILE, b"project", &project),
        (LINK, b"pyproject.toml", &blob("project")),
        ("100755", b"run", &run),
        ("40000", b"sub", &sub),
        ("160000", b"submodule", &"1".repeat(40)),
        (LINK, b"to-folder", &blob("sub")),
        (LINK, b"through", &blob("to-folder/up")),
    ]);
    let (mirror, commit) = repo.mirrored(&tree);
    let bundle = bundle(&mirror, &commit).unwrap();
    let project = "[tool.iris.bundle]\nexclude = ['^left-out$']";
    assert_eq!(
        texts(&bundle),
        [
            "page=page",
            &format!("project={project}"),
            &format!("pyproject.toml={project}"),
            "run=#!/bin/sh\n",
            "sub/up=#!/bin/sh\n",
            "through=#!/bin/sh\n",
        ]
    );
    let mut archive = ZipArchive::new(Cursor::new(&bundle.bytes[..])).unwrap();
    assert_eq!(archive.by_name("through").unwrap().unix_mode(), Some(0o100_755));
    assert_eq!(
        skipped(&bundle),
        [
            "\"absolute\" is a link out of the tree",
            "\"circle\" is a link that leads in a circle",
            "\"dangling\" is a link to nothing",
            "\"sub/out\" is a link out of the tree",
            "\"submodule\" is a submodule",
            "\"to-folder\" is a link to a folder",
        ]
    );
}

#[test]
fn too_large_for_the_cluster() {
    let repo = Repo::new();
    let mut state = 1_u64;
    let mut noise = |bytes: usize| -> String {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b' ' + u8::try_from(state >> 58).unwrap())
        };
        (0..bytes).map(|_| next()).collect()
    };
    let files: Vec<(String, String)> = (1..14).map(|n| (format!("data/{n:02}.bin"), noise(n << 19))).collect();
    let mut named: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    named.push(("small", "small"));
    let commit = repo.commit(&named);
    let project = "[tool.iris.bundle]\nexclude = ['data/1.*']\n";
    named.push(("pyproject.toml", project));
    let fixed = repo.commit(&named);
    let bundler = Bundler::new(repo.mirror());
    let error = bundler.bundle(&commit, None).unwrap_err();
    let BundleError::TooLarge { bytes, limit, largest } = &error else { panic!("{error}") };
    assert!(*limit == 25 << 20 && (33 << 20..45 << 20).contains(bytes), "{bytes}");
    assert_eq!(largest.len(), 10);
    assert_eq!((largest[0].path.text().as_ref(), largest[0].plain), ("data/13.bin", 13 << 19));
    let said = error.to_string();
    assert!(
        said.contains("at most 25.00 MiB; exclude") && said.contains("(6.00 MiB unpacked) \"data/12.bin\""),
        "{said}"
    );
    assert!(!said.contains("small"));
    // The same again, and what the message advises.
    assert_eq!(bundler.bundle(&commit, None).unwrap_err(), error);
    assert_eq!(bundler.bundle(&fixed, None).unwrap().files, 11);
}

#[test]
fn a_tree_that_unpacks_to_too_much() {
    let repo = Repo::new();
    let zeros = repo.blob(&vec![0; 64 << 20]);
    let names: Vec<String> = (10..27).map(|n| n.to_string()).collect();
    let items: Vec<(&str, &[u8], &str)> = names.iter().map(|name| (FILE, name.as_bytes(), zeros.as_str())).collect();
    let (mirror, commit) = repo.mirrored(&repo.raw_tree(&items));
    let bundler = Bundler::new(mirror);
    let error = bundler.bundle(&commit, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "what is in the files of the commit is more than is bundled: at most 1073741824 bytes"
    );
    let (_, commit) = repo.mirrored(&repo.raw_tree(&items[..16]));
    let whole = bundler.bundle(&commit, None).unwrap();
    assert_eq!(whole.files, 16);
    // Now that it is compressed already, too.
    let (_, commit) = repo.mirrored(&repo.raw_tree(&items));
    assert_eq!(bundler.bundle(&commit, None).unwrap_err(), error);
}

#[test]
fn too_many_files() {
    let repo = Repo::new();
    let blob = repo.blob(b"x");
    let names: Vec<String> = (0..500).map(|n| format!("{n:03}")).collect();
    let level = |mode, object: &str, count: usize| {
        let items: Vec<(&str, &[u8], &str)> =
            names[..count].iter().map(|name| (mode, name.as_bytes(), object)).collect();
        repo.raw_tree(&items)
    };
    let tree = level("40000", &level(FILE, &blob, 500), 401);
    let (mirror, commit) = repo.mirrored(&tree);
    let error = bundle(&mirror, &commit).unwrap_err().to_string();
    assert_eq!(error, "the number of files of the commit is more than is bundled: at most 200000 files");
    // A tree that is small and has billions of files.
    let tree = level("40000", &level("40000", &tree, 500), 500);
    let (mirror, commit) = repo.mirrored(&tree);
    let error = bundle(&mirror, &commit).unwrap_err();
    assert!(matches!(error, BundleError::Git(GitError::TooLarge { .. })), "{error}");
    // More than a directory of the old format holds.
    let (mirror, commit) = repo.mirrored(&level("40000", &level(FILE, &blob, 500), 140));
    assert_eq!(content(&bundle(&mirror, &commit).unwrap()).len(), 70_000);
}

#[test]
fn paths_that_no_zip_should_have() {
    let repo = Repo::new();
    let blob = repo.blob(b"x");
    let inner = |name: &[u8]| repo.raw_tree(&[(FILE, name, &blob)]);
    let sub = inner(b"b");
    for (items, shown) in [
        (vec![(FILE, &b"caf\xe9"[..], &blob)], "\"caf\u{fffd}\" cannot be bundled: it is not UTF-8"),
        (vec![("40000", b"..", &sub)], "\"../b\" cannot be bundled: it has a part .."),
        (vec![("40000", b".GIT", &sub)], "\".GIT/b\" cannot be bundled: it has a part that reads as"),
        (vec![(FILE, b"../../x", &blob)], "\"../../x\" cannot be bundled"),
        (vec![(FILE, b"a", &blob), (FILE, b"a", &blob)], "\"a\" cannot be bundled: it stands there twice"),
        (vec![(FILE, b"a", &blob), ("40000", b"a", &sub)], "\"a/b\" cannot be bundled: it stands there twice"),
    ] {
        let items: Vec<(&str, &[u8], &str)> =
            items.iter().map(|(mode, name, id)| (*mode, *name, id.as_str())).collect();
        let (mirror, commit) = repo.mirrored(&repo.raw_tree(&items));
        let said = bundle(&mirror, &commit).unwrap_err().to_string();
        assert!(said.starts_with(shown), "{said}");
    }
    // What the rules leave out may have any name.
    let tests = inner(b"caf\xe9");
    let (mirror, commit) = repo.mirrored(&repo.raw_tree(&[(FILE, b"a", &blob), ("40000", b"tests", &tests)]));
    assert_eq!(texts(&bundle(&mirror, &commit).unwrap()), ["a=x"]);
}

#[test]
fn a_project_that_means_no_good() {
    let repo = Repo::new();
    let huge = format!("x = '{}'", "x".repeat(2 << 20));
    let commits: Vec<(CommitSha, &str)> = [
        ("[tool", "the file: is no TOML: line 1"),
        ("[tool.iris.bundle]\nexclude = ['(?=x)']", "exclude[0]"),
        ("[tool.iris.bundle]\nexclude = 3", "exclude: is no array"),
        ("[tool.iris]\nbundle = 3", "tool.iris.bundle: is no table"),
    ]
    .map(|(text, said)| (repo.commit(&[("pyproject.toml", text)]), said))
    .into();
    let too_long = repo.commit(&[("pyproject.toml", &huge)]);
    let bundler = Bundler::new(repo.mirror());
    for (commit, said) in commits {
        let error = bundler.bundle(&commit, None).unwrap_err();
        assert!(matches!(error, BundleError::Config { .. }) && error.to_string().contains(said), "{error}");
    }
    let error = bundler.bundle(&too_long, None).unwrap_err().to_string();
    assert_eq!(error, "pyproject.toml is more than is bundled: at most 1048576 bytes");
}

/// A script, and text of each language that would leave a trace if anything ran it.
fn trap(repo: &Repo, name: &str) -> String {
    let script = repo.dir.path().join(name);
    let text = format!("#!/bin/sh\ntouch '{}/fired-{name}'\ncat\n", repo.dir.path().display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

#[test]
fn nothing_of_the_repository_is_executed_or_converted() {
    let repo = Repo::new();
    let python = |name: &str| {
        format!("import pathlib\npathlib.Path({:?}).touch()\n", repo.dir.path().join(format!("fired-{name}")))
    };
    let attributes = "* filter=evil diff=evil merge=evil text eol=crlf ident export-subst\n\
                      *.utf16 working-tree-encoding=UTF-16\nhidden export-ignore\n*.bin filter=lfs\n";
    let build = "[build-system]\nrequires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n\
                 [tool.hatch.build.hooks.custom]\npath = 'hatch_build.py'\n[tool.iris.bundle]\nexclude = []\n";
    let modules = format!("[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c {}\n", trap(&repo, "module"));
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    let (setup, hatch, site, conftest, evil) =
        (python("setup"), python("hatch"), python("site"), python("conftest"), python("evil"));
    let files: Vec<(&str, &str)> = vec![
        (".gitattributes", attributes),
        (".gitmodules", &modules),
        (".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:1/\n"),
        ("a", "$Id$ $Format:%H$\nunix\n"),
        ("b", "dos\r\n"),
        ("c.utf16", "text"),
        ("conftest.py", &conftest),
        ("d.bin", pointer),
        ("evil.py", &evil),
        ("hatch_build.py", &hatch),
        ("hidden", "kept"),
        ("pyproject.toml", build),
        ("setup.py", &setup),
        ("sitecustomize.py", &site),
        ("usercustomize.py", &site),
        ("post-checkout.sh", "#!/bin/sh\nexit 1\n"),
    ];
    repo.commit(&files);
    // The rest only fits into a tree by plumbing.
    let passwd = repo.blob(b"/etc/passwd");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("{LINK},{passwd},passwd")]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},x", "1".repeat(40))]);
    let tree = repo.git(&["write-tree"]);
    let commit = repo.commit_tree(&tree, &[], 1_700_000_000);
    repo.git(&["update-ref", "refs/heads/main", commit.as_str()]);

    for (key, name) in [
        ("filter.evil.smudge", "smudge"),
        ("filter.evil.clean", "clean"),
        ("filter.evil.process", "process"),
        ("filter.lfs.smudge", "lfs"),
        ("filter.lfs.process", "lfs-process"),
        ("diff.evil.textconv", "textconv"),
        ("diff.evil.command", "command"),
        ("diff.external", "external"),
        ("core.fsmonitor", "fsmonitor"),
        ("core.sshCommand", "ssh"),
        ("core.pager", "pager"),
        ("core.alternateRefsCommand", "alternates"),
        ("uploadpack.packObjectsHook", "pack"),
        ("credential.helper", "credential"),
        ("alias.cat-file", "alias"),
    ] {
        repo.git(&["config", key, &trap(&repo, name)]);
    }
    repo.git(&["config", "filter.evil.required", "true"]);
    let hooks = repo.root().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change", "fsmonitor-watchman"] {
        std::fs::copy(trap(&repo, &format!("hook-{hook}")), hooks.join(hook)).unwrap();
    }
    let before = listing(&repo.root());
    let mirror = repo.mirror();
    let bundle = bundle(&mirror, &commit).unwrap();
    let expected: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    assert_eq!(content(&bundle), expected);
    assert_eq!(skipped(&bundle), ["\"passwd\" is a link out of the tree", "\"x\" is a submodule"]);
    let fired: Vec<String> = listing(repo.dir.path()).into_iter().filter(|line| line.starts_with("fired-")).collect();
    assert_eq!(fired, [""; 0]);
    assert_eq!(listing(&repo.root()), before, "the repository was written to");
}

#[test]
fn objects_that_are_not_there() {
    let repo = Repo::new();
    let commit = repo.commit(&[("a", "1"), ("b", "2")]);
    let mirror = repo.mirror();
    let missing = repo.commit_tree(&repo.raw_tree(&[(FILE, b"a", &"1".repeat(40))]), &[], 1);
    assert!(matches!(bundle(&mirror, &missing), Err(BundleError::Git(_))), "a commit");
    // A tree whose file is gone: what a mirror that was damaged has.
    for object in ["objects/pack", "objects"] {
        for entry in std::fs::read_dir(mirror.dir().join(object)).unwrap().flatten() {
            let (from, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if name == "pack" || name == "info" {
                continue;
            }
            drop(std::fs::remove_file(&from));
            drop(std::fs::remove_dir_all(&from));
        }
    }
    assert!(matches!(bundle(&mirror, &commit), Err(BundleError::Git(_))), "everything");
}

/// The rules in Python, over what `git archive` wrote, compared with the zip as Python reads it.
const REFERENCE: &str = include_str!("support/bundle.py");

#[test]
fn python_agrees() {
    let new_enough = ["-c", "import sys, tomllib"];
    if !Command::new("python3").args(new_enough).output().is_ok_and(|output| output.status.success()) {
        println!("left out: no python3 of 3.11 or newer");
        return;
    }
    let repo = Repo::new();
    let folders = [
        "",
        "docs",
        "tests",
        "test",
        "x/tests/y",
        ".github",
        ".git-x",
        "target",
        "targets",
        "a.egg-info",
        "venv",
        ".venv",
        "node_modules",
        "__pycache__",
        "a/.claude",
        "src/caf\u{e9}",
        "journeys-out",
        "x y",
    ];
    let names = [
        "a.py",
        "b.pyc",
        "c.mov",
        "d.so",
        "d.so.1",
        "gha-creds-1.json",
        "gha-creds-.json",
        "AGENTS.md",
        "AGENTS.md2",
        "TESTING.md",
        "n.ipynb",
        "run.sh",
        ".hidden",
        "{x}",
        "data.txt",
        "target",
        "tests",
        "docs.rs",
        "pip.egg-info",
    ];
    let mut files: Vec<(String, String)> = Vec::new();
    for folder in folders {
        for name in names {
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            // A name is a folder or a file.
            if !folders.iter().any(|other| *other == path || other.starts_with(&format!("{path}/"))) {
                files.push((path.clone(), path.repeat(path.len())));
            }
        }
    }
    let project = "[tool.iris.bundle]\ninclude = ['tests/*.py', 'x/**/data.txt', 'docs/[a-d]*', '**/{x}', '.github/*']\n\
                   exclude = ['^src/.*\\.txt$', 'é/run', '(?:hidden|nothing)$']\n";
    files.push(("pyproject.toml".to_owned(), project.to_owned()));
    let named: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let commit = repo.commit(&named);
    let bundle = bundle(&repo.mirror(), &commit).unwrap();
    let zip = repo.dir.path().join("bundle.zip");
    std::fs::write(&zip, &bundle.bytes).unwrap();
    let output = Command::new("python3")
        .args(["-c", REFERENCE, &repo.root().display().to_string(), commit.as_str(), &zip.display().to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{} of {}\n", bundle.files, files.len()));
}
