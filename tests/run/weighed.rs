//! What a push means for a comparison that was planned, and what a head that was merged is compared with.

use std::fs;
use std::path::PathBuf;

use bot::command::run::{Commits, Known, Pinned, Prepared, prepare, weigh};
use bot::failure::Failure;
use bot::world::{Machine, Secrets, SystemClock};
use domain::ids::CommitSha;
use domain::pull::{Compared, FromPull};
use domain::request::Options;
use lab::git::{Mirror, Source};
use suite::Suite;

use crate::support::repository::{Bench, Repository};
use crate::support::world::SUITE;

/// A repository, a mirror of it, and a suite that ignores its tests.
struct Place {
    hold: tempfile::TempDir,
    repository: Repository,
    suite: Suite,
}

impl Place {
    fn new() -> Self {
        let hold = tempfile::Builder::new().prefix("zab-test-").tempdir().expect("a folder");
        let repository = Repository::new(&hold.path().join("repository"), &Bench::default());
        let suite = format!("{SUITE}\n[scope]\nignore = [\"tests/**\"]\n");
        let suite = Suite::parse("tiny.toml", &suite).expect("a suite");
        let place = Self { hold, repository, suite };
        place.commit("main", &[("lib/f.py", "x = 1\n"), ("README.md", "a")]);
        place
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.hold.path().join(name)
    }

    /// Commits these files on a branch that is there.
    fn commit(&self, branch: &str, files: &[(&str, &str)]) -> CommitSha {
        self.repository.git(&["checkout", "--quiet", branch]);
        for (name, text) in files {
            let path = self.repository.folder().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        self.repository.commit_all("Files").parse().expect("a commit")
    }

    fn branch(&self, name: &str, from: &str) {
        self.repository.git(&["branch", "--quiet", name, from]);
    }

    fn commit_of(&self, name: &str) -> CommitSha {
        self.repository.commit_of(name).parse().expect("a commit")
    }

    fn mirror(&self, name: &str) -> Mirror {
        let folder = self.folder(name);
        fs::create_dir_all(&folder).expect("a folder");
        let mirror = Mirror::open(&folder, &std::env::var_os("PATH").unwrap_or_default()).expect("git");
        let source = Source::of(self.repository.folder().to_str().expect("UTF-8")).expect("a source");
        mirror.fetch(&source).expect("a fetch");
        mirror
    }

    fn with<T>(
        &self,
        (head, base): (&CommitSha, &CommitSha),
        asked_base: Option<&CommitSha>,
        mirror: &str,
        what: impl FnOnce(&Commits<'_>, &bot::world::World<'_>) -> Result<T, Failure>,
    ) -> T {
        let (mut stdin, mut stdout, mut stderr) = (std::io::empty(), std::io::sink(), std::io::sink());
        let machine = Machine {
            program: PathBuf::from(env!("CARGO_BIN_EXE_zephyr-ab")),
            path: std::env::var_os("PATH").unwrap_or_default(),
            temp: self.hold.path().to_owned(),
            processors: 2,
            display: false,
            random: 1,
            secrets: Secrets::default(),
            clock: SystemClock,
        };
        let world = bot::world::World {
            stdin: &mut stdin,
            stdout: &mut stdout,
            stderr: &mut stderr,
            terminal: false,
            answers: false,
            machine,
        };
        let pinned = Pinned {
            mirror: self.mirror(mirror),
            repository: "owner/name".to_owned(),
            pull: FromPull { repo: 1, number: 2 },
            run: "20261129T202850Z-8d10c1b5".parse().expect("a run"),
            head: head.clone(),
            base: base.clone(),
            asked_base: asked_base.cloned(),
            continues: None,
            retries: None,
        };
        let commits = Commits { repo: "owner/name", base: Some("main"), head: head.as_str(), pinned: Some(&pinned) };
        what(&commits, &world).expect("commits")
    }

    fn plan(&self, head: &CommitSha, base: &CommitSha, asked: Option<&CommitSha>) -> Prepared {
        self.with((head, base), asked, "mirror", |commits, world| {
            prepare(&self.suite, &Options::default(), commits, &Known::default(), world)
        })
    }

    fn weigh(&self, before: &Prepared, head: &CommitSha, base: &CommitSha, mirror: &str) -> Compared {
        let plan = &before.plan;
        self.with((head, base), Some(base), mirror, |commits, world| {
            weigh(&self.suite, &Options::default(), commits, &plan.origin, &plan.arms, world)
        })
    }
}

fn why(weighed: Compared) -> (bool, String) {
    match weighed {
        Compared::Same { why } => (true, why),
        Compared::Changed { why } => (false, why),
    }
}

#[test]
fn pushes_to_a_head() {
    let place = Place::new();
    let base = place.commit_of("main");
    place.branch("topic", "main");
    let head = place.commit("topic", &[("lib/f.py", "x = 2\n")]);
    let planned = place.plan(&head, &base, None);
    assert_eq!(planned.plan.arms.control(), &base);
    let pushed = |files: &[(&str, &str)]| {
        let head = place.commit("topic", files);
        why(place.weigh(&planned, &head, &base, "mirror"))
    };
    let same = "the files that matter are the same";
    assert_eq!(pushed(&[]), (true, same.to_owned()));
    assert_eq!(pushed(&[("tests/a.py", "assert True")]), (true, same.to_owned()));
    let trivial = "only 1 documentation file; 1 file that the suite ignores; comments in lib/f.py changed";
    assert_eq!(pushed(&[("README.md", "b"), ("lib/f.py", "x = 2  # two\n")]), (true, trivial.to_owned()));
    assert_eq!(
        pushed(&[("lib/f.py", "x = 3\n"), ("lib/\u{1b}[1m`", "a"), ("lib/b", "b"), ("lib/c", "c")]),
        (false, "in head: \"lib/\\u{1b}[1m`\", \"lib/b\", \"lib/c\" and 1 more".to_owned())
    );
    assert!(!pushed(&[("lib/f.py", "x = 2\n")]).0, "the other files are still there");
}

#[test]
fn a_base_that_is_merged_in_counts_by_what_it_brings() {
    let place = Place::new();
    let base = place.commit_of("main");
    place.branch("topic", "main");
    let head = place.commit("topic", &[("lib/f.py", "x = 2\n")]);
    let planned = place.plan(&head, &base, None);
    // The base branch moves: nothing of what is compared does.
    let moved = place.commit("main", &[("lib/g.py", "y = 1\n")]);
    assert_eq!(
        place.weigh(&planned, &head, &moved, "mirror"),
        Compared::Same { why: "the files that matter are the same".to_owned() }
    );
    place.repository.git(&["checkout", "--quiet", "topic"]);
    place.repository.git(&["merge", "--quiet", "--no-ff", "--message", "Merge", "main"]);
    let merged = place.commit_of("topic");
    let weighed = why(place.weigh(&planned, &merged, &moved, "mirror"));
    assert_eq!(weighed, (false, "in control: \"lib/g.py\"".to_owned()));
}

#[test]
fn an_old_head_that_is_gone_is_compared_by_its_digests() {
    let place = Place::new();
    let base = place.commit_of("main");
    place.branch("topic", "main");
    let head = place.commit("topic", &[("lib/f.py", "x = 2\n")]);
    let planned = place.plan(&head, &base, None);
    let forced = |files: &[(&str, &str)], mirror: &str| {
        place.repository.git(&["checkout", "--quiet", "--force", "-B", "topic", "main"]);
        let head = place.commit("topic", files);
        place.repository.git(&["checkout", "--quiet", "main"]);
        why(place.weigh(&planned, &head, &base, mirror))
    };
    assert!(forced(&[("lib/f.py", "x = 2\n"), ("tests/x", "x")], "other").0);
    let (same, why) = forced(&[("lib/f.py", "x = 2  # two\n")], "third");
    assert!(!same && why.contains("is not there any more"), "{why}");
    assert!(forced(&[("lib/f.py", "x = 2  # two\n")], "mirror").0, "where the old one is kept");
}

#[test]
fn a_merged_head_is_compared_with_what_it_was_merged_into() {
    let place = Place::new();
    let base = place.commit_of("main");
    place.branch("topic", "main");
    let head = place.commit("topic", &[("lib/f.py", "x = 2\n")]);
    let open = place.plan(&head, &base, Some(&base));
    place.repository.git(&["checkout", "--quiet", "main"]);
    place.repository.git(&["merge", "--quiet", "--no-ff", "--message", "Merge", "topic"]);
    let tip = place.commit_of("main");
    let merged = place.plan(&head, &tip, Some(&base));
    assert_eq!(merged.plan.arms, open.plan.arms);
    assert_eq!(merged.plan.ledger, open.plan.ledger);
    let without = place.plan(&head, &tip, None);
    assert_eq!(without.plan.arms.control(), &head, "nobody says what it was merged into");
    let weighed = place.with((&head, &tip), Some(&base), "mirror", |commits, world| {
        weigh(&place.suite, &Options::default(), commits, &open.plan.origin, &open.plan.arms, world)
    });
    assert!(matches!(weighed, Compared::Same { .. }), "{weighed:?}");
}

#[test]
fn a_plan_of_a_trivial_change_proposes_to_skip() {
    let place = Place::new();
    let base = place.commit_of("main");
    place.branch("topic", "main");
    let head = place.commit("topic", &[("README.md", "b")]);
    let prepared = place.plan(&head, &base, Some(&base));
    assert_eq!(prepared.plan.skip.as_deref(), Some(&["1 documentation file".to_owned()][..]));
    assert!(prepared.confirm.expect("a question").starts_with("only 1 documentation file changed"));
    assert!(domain::machine::Frame::of(&prepared.plan).skip);
    let head = place.commit("topic", &[("lib/f.py", "x = 2\n")]);
    let prepared = place.plan(&head, &base, Some(&base));
    assert_eq!((&prepared.plan.skip, &prepared.confirm), (&None, &None));
    assert!(!domain::machine::Frame::of(&prepared.plan).skip);
}
