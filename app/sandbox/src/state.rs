//! Everything that a sandbox remembers, behind one lock.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::dice::Dice;
use crate::exchange::{Judge, Logged};
use crate::faults::{Faults, Rule};
use crate::git::{Commit, Git};
use crate::hooks::EVENTS;
use crate::model::{
    App, Check, Comment, Delivery, Event, Installation, Issue, Kind, Pull, Reaction, Repository, Status, Token, User,
};
use crate::{Error, Options};

/// So many requests are kept.
const REQUESTS: usize = 20_000;
/// So many deliveries may wait.
pub(crate) const DELIVERIES: usize = 10_000;

/// What lies between the base and the head of a pull request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Between {
    pub(crate) related: bool,
    pub(crate) commits: u64,
    pub(crate) files: usize,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
}

/// What a push brought.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pushed {
    /// Whether it only added commits.
    pub(crate) forward: bool,
    /// The commits that were not there before, oldest first.
    pub(crate) commits: Vec<Commit>,
}

/// Everything that a sandbox remembers.
pub(crate) struct State {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dice: Dice,
    /// What lies between two commits, which never changes.
    between: RefCell<BTreeMap<(String, String), Between>>,
    /// What was pushed from a commit to another one, which never changes either.
    pushed: RefCell<BTreeMap<(String, String), Pushed>>,
    pub(crate) git: Git,
    pub(crate) judge: Option<Judge>,
    /// `http://127.0.0.1:<port>`.
    pub(crate) web: String,
    pub(crate) prefix: String,
    folder: PathBuf,
    next_id: u64,
    pub(crate) app: App,
    /// What manifests can be exchanged for, once.
    pub(crate) codes: BTreeSet<String>,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) installations: BTreeMap<u64, Installation>,
    pub(crate) repos: BTreeMap<u64, Repository>,
    /// Names that repositories had before, in small letters.
    pub(crate) old_names: BTreeMap<String, u64>,
    /// What happened to pull requests, oldest first.
    pub(crate) events: Vec<Event>,
    pub(crate) comments: BTreeMap<u64, Comment>,
    pub(crate) reactions: BTreeMap<u64, Reaction>,
    pub(crate) checks: BTreeMap<u64, Check>,
    /// Suites by repository, commit and app.
    pub(crate) suites: BTreeMap<(u64, String, u64), u64>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) tokens: BTreeMap<String, Token>,
    /// Manifests of apps by the code that they are asked for with.
    pub(crate) manifests: BTreeMap<String, serde_json::Value>,
    pub(crate) deliveries: BTreeMap<u64, Delivery>,
    pub(crate) faults: Faults,
    pub(crate) rules: Vec<Rule>,
    pub(crate) requests: VecDeque<Logged>,
    pub(crate) violations: Vec<String>,
    /// Requests of the hour that began at this time.
    pub(crate) hour: (u64, u64),
    /// Deliveries that have to be sent, and how many of them are not done yet.
    pub(crate) outgoing: mpsc::Sender<u64>,
    pub(crate) pending: tokio::sync::watch::Sender<usize>,
}

impl State {
    pub(crate) fn new(options: &Options, web: String, folder: PathBuf, outgoing: mpsc::Sender<u64>) -> Self {
        let path = options.path.clone().or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        let now = options.clock.now_ms();
        let mut state = Self {
            clock: Arc::clone(&options.clock),
            dice: Dice::new(options.seed),
            between: RefCell::default(),
            pushed: RefCell::default(),
            git: Git::new(path),
            judge: options.judge.clone(),
            web,
            prefix: options.prefix.trim_end_matches('/').to_owned(),
            folder,
            next_id: 1000,
            app: App {
                id: 0,
                slug: options.slug.clone(),
                permissions: options.permissions.clone(),
                events: EVENTS.map(str::to_owned).to_vec(),
                public_keys: options.public_keys.clone(),
                webhook: options.webhook.clone(),
                secret: options.secret.clone(),
                created_ms: now,
            },
            codes: BTreeSet::new(),
            users: BTreeMap::new(),
            installations: BTreeMap::new(),
            repos: BTreeMap::new(),
            old_names: BTreeMap::new(),
            events: Vec::new(),
            comments: BTreeMap::new(),
            reactions: BTreeMap::new(),
            checks: BTreeMap::new(),
            suites: BTreeMap::new(),
            statuses: Vec::new(),
            tokens: BTreeMap::new(),
            manifests: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            faults: Faults::default(),
            rules: Vec::new(),
            requests: VecDeque::new(),
            violations: Vec::new(),
            hour: (0, 0),
            outgoing,
            pending: tokio::sync::watch::Sender::new(0),
        };
        state.app.id = state.id();
        let bot = state.bot();
        state.user(&bot, Kind::Bot);
        state
    }

    /// A new number, larger than all before.
    pub(crate) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The account that the app writes as.
    pub(crate) fn bot(&self) -> String {
        format!("{}[bot]", self.app.slug)
    }

    /// Makes an account, where there is none of this name.
    pub(crate) fn user(&mut self, login: &str, kind: Kind) -> u64 {
        if let Some(user) = self.users.get(login) {
            return user.id;
        }
        let id = self.id();
        self.users.insert(login.to_owned(), User { id, login: login.to_owned(), kind });
        id
    }

    /// A repository by `owner/name`, also in other letters, but not by a name that it had before.
    pub(crate) fn named(&self, full_name: &str) -> Result<u64, Error> {
        let found = self.repos.values().find(|repo| repo.full_name().eq_ignore_ascii_case(full_name));
        found.map(|repo| repo.id).ok_or_else(|| Error::Unknown(format!("repository {full_name}")))
    }

    pub(crate) fn repo(&self, id: u64) -> Result<&Repository, Error> {
        self.repos.get(&id).ok_or_else(|| Error::Unknown(format!("repository {id}")))
    }

    pub(crate) fn issue(&self, repo: u64, number: u64) -> Result<&Issue, Error> {
        self.repo(repo)?.issues.get(&number).ok_or_else(|| Error::Unknown(format!("issue {number}")))
    }

    pub(crate) fn issue_mut(&mut self, repo: u64, number: u64) -> Result<&mut Issue, Error> {
        let issue = self.repos.get_mut(&repo).and_then(|repo| repo.issues.get_mut(&number));
        issue.ok_or_else(|| Error::Unknown(format!("issue {number}")))
    }

    pub(crate) fn pull(&self, repo: u64, number: u64) -> Result<(&Issue, &Pull), Error> {
        let issue = self.issue(repo, number)?;
        let pull = issue.pull.as_ref().ok_or_else(|| Error::Unknown(format!("pull request {number}")))?;
        Ok((issue, pull))
    }

    /// The part of an issue that makes it a pull request, to be changed; the issue is marked as changed now.
    pub(crate) fn pull_mut(&mut self, repo: u64, number: u64) -> Result<&mut Pull, Error> {
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        issue.updated_ms = now;
        issue.pull.as_mut().ok_or_else(|| Error::Unknown(format!("pull request {number}")))
    }

    /// The folder of a repository of this number.
    pub(crate) fn folder(&self, repo: u64) -> PathBuf {
        self.folder.join(format!("{repo}.git"))
    }

    /// What lies between the base and the head of a pull request.
    pub(crate) fn between(&self, folder: &Path, base: &str, head: &str) -> Between {
        let key = (base.to_owned(), head.to_owned());
        if let Some(known) = self.between.borrow().get(&key) {
            return *known;
        }
        let mut between = Between::default();
        if let Some(common) = self.git.merge_base(folder, base, head) {
            let files = self.git.changed(folder, &common, head).unwrap_or_default();
            between = Between {
                related: true,
                commits: self.git.apart(folder, base, head).map_or(0, |(_, ahead)| ahead),
                files: files.len(),
                additions: files.iter().map(|file| file.additions).sum(),
                deletions: files.iter().map(|file| file.deletions).sum(),
            };
        }
        self.between.borrow_mut().insert(key, between);
        between
    }

    /// What a push from a commit to another one brought; nothing where git cannot say.
    pub(crate) fn pushed_between(&self, folder: &Path, before: &str, after: &str) -> Pushed {
        let key = (before.to_owned(), after.to_owned());
        if let Some(known) = self.pushed.borrow().get(&key) {
            return known.clone();
        }
        let pushed = Pushed {
            forward: self.git.merge_base(folder, before, after).as_deref() == Some(before),
            commits: self.git.between(folder, before, after).unwrap_or_default(),
        };
        self.pushed.borrow_mut().insert(key, pushed.clone());
        pushed
    }

    /// The installation that reaches a repository.
    pub(crate) fn installed(&self, repo: u64) -> Option<&Installation> {
        self.installations.values().find(|installation| installation.repositories.contains(&repo))
    }

    /// The role of an account in a repository. A public repository can be read by everybody who was not told otherwise.
    pub(crate) fn role(repo: &Repository, login: &str) -> String {
        match repo.roles.get(login) {
            Some(role) => role.clone(),
            None if repo.owner == login => "admin".to_owned(),
            None if repo.private => "none".to_owned(),
            None => "read".to_owned(),
        }
    }

    /// What a role permits in the old words: `admin`, `write`, `read` or `none`.
    pub(crate) fn permission(role: &str) -> &'static str {
        match role {
            "admin" => "admin",
            "maintain" | "write" => "write",
            "none" => "none",
            _ => "read",
        }
    }

    pub(crate) fn log(&mut self, logged: Logged) {
        if self.requests.len() >= REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(logged);
    }
}
