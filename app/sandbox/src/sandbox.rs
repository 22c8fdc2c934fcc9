//! The handle of a sandbox.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::exchange::Logged;
use crate::faults::{Faults, Rule};
use crate::model::{Check, Comment, Delivery, Issue, Kind, Reaction};
use crate::state::{DELIVERIES, State};
use crate::{Error, Options, Settings, hooks, serve};

/// What the server, the deliveries and the handle share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Somebody waits for all deliveries.
    pub(crate) flush: Notify,
    /// How often something may have changed by a request or a delivery.
    changes: watch::Sender<u64>,
    /// The repositories; removed with the last of those who share this.
    _folder: tempfile::TempDir,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who wait for something, after it was done.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// A small GitHub on loopback. Dropping it stops it.
///
/// Repositories are named `owner/name`, people by their login. Calls that change something may take some milliseconds,
/// as git is run; they do not wait for deliveries (see [`Sandbox::quiesce`]).
pub struct Sandbox {
    shared: Arc<Shared>,
    _stop: DropGuard,
}

impl Sandbox {
    /// Starts one. Needs a runtime of tokio, and git in the `PATH`.
    ///
    /// # Errors
    /// [`Error::Io`] where the port is taken, or no folder can be made.
    pub async fn start(options: Options) -> Result<Self, Error> {
        // A provider that is installed already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        let client = client.map_err(|error| Error::Refused(error.to_string()))?;
        let folder = tempfile::Builder::new().prefix("sandbox-").tempdir()?;
        let listener = TcpListener::bind(("127.0.0.1", options.port)).await?;
        let web = format!("http://{}", listener.local_addr()?);
        let (outgoing, queue) = mpsc::channel(DELIVERIES);
        let state = State::new(&options, web, folder.path().to_owned(), outgoing);
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            flush: Notify::new(),
            changes: watch::Sender::new(0),
            _folder: folder,
        });
        let stop = CancellationToken::new();
        tokio::spawn(hooks::send::run(Arc::clone(&shared), client, queue, stop.clone()));
        tokio::spawn(serve::run(Arc::clone(&shared), listener, stop.clone()));
        Ok(Self { shared, _stop: stop.drop_guard() })
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.shared.lock())
    }

    /// Acts in a repository.
    fn in_repo<T>(&self, repo: &str, act: impl FnOnce(&mut State, u64) -> Result<T, Error>) -> Result<T, Error> {
        self.with(|state| {
            let id = state.named(repo)?;
            act(state, id)
        })
    }

    /// What a program needs to connect.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.with(|state| Settings::of(state))
    }

    /// Sends deliveries here from now on.
    pub fn set_webhook(&self, url: &str) {
        self.with(|state| state.app.webhook = Some(url.to_owned()));
    }

    /// Adds a key that JWTs of the app are checked with, in PEM; the others stay in force.
    pub fn add_key(&self, public_pem: &str) {
        self.with(|state| state.app.public_keys.push(public_pem.to_owned()));
    }

    /// Takes a key out of force.
    pub fn remove_key(&self, public_pem: &str) {
        self.with(|state| state.app.public_keys.retain(|key| key != public_pem));
    }

    /// Signs deliveries with another secret from now on.
    pub fn set_secret(&self, secret: &str) {
        self.with(|state| secret.clone_into(&mut state.app.secret));
    }

    // ---- people and apps ----

    /// Makes an account, where there is none of this name. Returns its number.
    #[must_use]
    pub fn user(&self, login: &str, kind: Kind) -> u64 {
        self.with(|state| state.user(login, kind))
    }

    /// Deletes an account: its comments have no author from now on.
    pub fn delete_user(&self, login: &str) {
        self.with(|state| {
            state.users.remove(login);
            for comment in state.comments.values_mut().filter(|comment| comment.author.as_deref() == Some(login)) {
                comment.author = None;
            }
        });
    }

    /// Gives somebody a role: `read`, `triage`, `write`, `maintain`, `admin`, another one that reads, or `none`.
    /// Makes the account where there is none.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn grant(&self, repo: &str, login: &str, role: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.grant(id, login, role))
    }

    /// Installs the app at an account for these repositories, or adds them to its installation. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an account or a repository that is not there.
    pub fn install(&self, account: &str, repos: &[&str]) -> Result<u64, Error> {
        self.with(|state| {
            let ids = repos.iter().map(|repo| state.named(repo)).collect::<Result<Vec<_>, _>>()?;
            state.install(account, &ids)
        })
    }

    /// Removes the app from an account.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an installation that is not there.
    pub fn uninstall(&self, installation: u64, by: &str) -> Result<(), Error> {
        self.with(|state| state.uninstall(installation, by))
    }

    /// Suspends the app at an account, or lets it go on.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an installation that is not there.
    pub fn suspend(&self, installation: u64, suspended: bool, by: &str) -> Result<(), Error> {
        self.with(|state| state.suspend(installation, suspended, by))
    }

    /// Takes a repository away from the app.
    ///
    /// # Errors
    /// [`Error::Unknown`] where the app does not reach it.
    pub fn withdraw(&self, repo: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.withdraw(id, by))
    }

    /// Changes what an installation may; `None` takes the permission away.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an installation that is not there.
    pub fn permit(&self, installation: u64, what: &str, level: Option<&str>) -> Result<(), Error> {
        self.with(|state| state.permit(installation, what, level))
    }

    /// Sends a `ping`.
    pub fn ping(&self) {
        self.with(State::ping);
    }

    /// Ends all tokens of installations now.
    pub fn expire_tokens(&self) {
        self.with(|state| state.tokens.clear());
    }

    // ---- repositories ----

    /// Makes an empty public repository, and its owner where there is none. Returns its number.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that makes no sense or is taken.
    pub fn repository(&self, full_name: &str) -> Result<u64, Error> {
        self.with(|state| state.make_repo(full_name, false, None))
    }

    /// Makes a repository private or public.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn set_private(&self, repo: &str, private: bool) -> Result<(), Error> {
        self.in_repo(repo, |state, id| {
            if let Some(repo) = state.repos.get_mut(&id) {
                repo.private = private;
            }
            Ok(())
        })
    }

    /// Forks a repository. The fork is called `owner/name` with the same name.
    ///
    /// # Errors
    /// [`Error::Refused`] where there is one already.
    pub fn fork(&self, repo: &str, owner: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.fork(id, owner))
    }

    /// Deletes a fork. Its pull requests stay, without a repository of their head.
    ///
    /// # Errors
    /// [`Error::Refused`] for a repository that is no fork.
    pub fn delete_fork(&self, fork: &str) -> Result<(), Error> {
        self.in_repo(fork, State::delete_fork)
    }

    /// The bare repository on this machine; call [`Sandbox::pushed`] after pushing there.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn folder(&self, repo: &str) -> Result<PathBuf, Error> {
        self.in_repo(repo, |state, id| Ok(state.repo(id)?.folder.clone()))
    }

    /// Adds a commit to a branch without telling anybody. `None` removes a file. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Git`] where git refuses.
    pub fn commit(
        &self,
        repo: &str,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
    ) -> Result<String, Error> {
        self.in_repo(repo, |state, id| state.add_commit(id, branch, files, message, "sandbox"))
    }

    /// Adds a commit to a branch, and lets the pull requests from it follow. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Git`] where git refuses.
    pub fn push(
        &self,
        repo: &str,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
        by: &str,
    ) -> Result<String, Error> {
        let sha = self.commit(repo, branch, files, message)?;
        self.pushed(repo, by)?;
        Ok(sha)
    }

    /// Points a branch at a commit, as a forced push does, and lets the pull requests from it follow.
    ///
    /// # Errors
    /// [`Error::Git`] where there is no such commit.
    pub fn force(&self, repo: &str, branch: &str, sha: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| {
            let folder = state.repo(id)?.folder.clone();
            state.git.point(&folder, &format!("refs/heads/{branch}"), sha)?;
            state.pushed(id, by)
        })
    }

    /// Looks at the branches of a repository that somebody has pushed to, and lets the pull requests from them follow.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn pushed(&self, repo: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.pushed(id, by))
    }

    /// Gives a repository another name, `octo/demo` -> `octo/<name>`.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that makes no sense or is taken.
    pub fn rename(&self, repo: &str, name: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.rename(id, name, by))
    }

    /// Gives a repository to another owner. The app reaches it no longer, unless it is installed there.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn transfer(&self, repo: &str, owner: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.transfer(id, owner, by))
    }

    // ---- issues and pull requests ----

    /// Opens an issue. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository or an author that is not there.
    pub fn issue(&self, repo: &str, title: &str, by: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.open_issue(id, title, by, None))
    }

    /// Opens a pull request for a branch of the repository itself (`branch`) or of a fork (`owner/name:branch`). Returns
    /// its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a branch or an author that is not there.
    pub fn pull(&self, repo: &str, head: &str, base: &str, title: &str, by: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| {
            let (from, branch) = match head.split_once(':') {
                Some((fork, branch)) => (state.named(fork)?, branch),
                None => (id, head),
            };
            state.open_pull(id, from, branch, base, title, by)
        })
    }

    /// An issue or a pull request as it is now.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn look(&self, repo: &str, number: u64) -> Result<Issue, Error> {
        self.in_repo(repo, |state, id| state.issue(id, number).cloned())
    }

    /// Closes a pull request or an issue.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is closed already.
    pub fn close(&self, repo: &str, number: u64, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_open(id, number, false, by))
    }

    /// Opens it again.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is open or merged.
    pub fn reopen(&self, repo: &str, number: u64, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_open(id, number, true, by))
    }

    /// Merges a pull request. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Git`] where there are conflicts.
    pub fn merge(&self, repo: &str, number: u64, by: &str) -> Result<String, Error> {
        self.in_repo(repo, |state, id| state.merge(id, number, by))
    }

    /// Directs a pull request at another branch.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a branch that is not there.
    pub fn retarget(&self, repo: &str, number: u64, base: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.retarget(id, number, base, by))
    }

    /// Makes a pull request a draft, or ready.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn set_draft(&self, repo: &str, number: u64, draft: bool, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_draft(id, number, draft, by))
    }

    /// Locks a conversation, or opens it again: the app cannot comment on it while it is locked.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn set_locked(&self, repo: &str, number: u64, locked: bool) -> Result<(), Error> {
        self.in_repo(repo, |state, id| {
            state.issue_mut(id, number)?.locked = locked;
            Ok(())
        })
    }

    // ---- comments ----

    /// Writes a comment. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an issue or an author that is not there.
    pub fn comment(&self, repo: &str, number: u64, by: &str, body: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.write_comment(id, number, by, body, false))
    }

    /// Edits a comment.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn edit_comment(&self, id: u64, by: &str, body: &str) -> Result<(), Error> {
        self.with(|state| state.rewrite_comment(id, by, body))
    }

    /// Deletes a comment.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn delete_comment(&self, id: u64, by: &str) -> Result<(), Error> {
        self.with(|state| state.remove_comment(id, by))
    }

    /// The comments on an issue, oldest first. Empty where there is no such repository.
    #[must_use]
    pub fn comments(&self, repo: &str, number: u64) -> Vec<Comment> {
        self.with(|state| {
            let Ok(id) = state.named(repo) else { return Vec::new() };
            state.comments.values().filter(|comment| comment.repo == id && comment.number == number).cloned().collect()
        })
    }

    /// All reactions, oldest first.
    #[must_use]
    pub fn reactions(&self) -> Vec<Reaction> {
        self.with(|state| state.reactions.values().cloned().collect())
    }

    // ---- checks ----

    /// All check runs, oldest first.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        self.with(|state| state.checks.values().cloned().collect())
    }

    /// Presses a button of a check run.
    ///
    /// # Errors
    /// [`Error::Unknown`] where it has no such button.
    pub fn press(&self, check: u64, identifier: &str, by: &str) -> Result<(), Error> {
        self.with(|state| state.press(check, identifier, by))
    }

    /// Asks for a check run again.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is not completed.
    pub fn rerequest(&self, check: u64, by: &str) -> Result<(), Error> {
        self.with(|state| state.rerequest(check, by))
    }

    /// A check run of another app, such as a build; without a conclusion it goes on. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a commit that is not there.
    pub fn other_check(&self, repo: &str, sha: &str, name: &str, conclusion: Option<&str>) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.other_check(id, sha, name, conclusion))
    }

    /// Says something of a commit: `error`, `failure`, `pending` or `success`.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a commit that is not there.
    pub fn set_status(&self, repo: &str, sha: &str, context: &str, state_word: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_status(id, sha, context, state_word))
    }

    // ---- deliveries, faults and what was asked ----

    /// The log of deliveries, oldest first.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.with(|state| state.deliveries.values().cloned().collect())
    }

    /// Makes a delivery again. `false` where there was none.
    #[must_use]
    pub fn redeliver(&self, id: u64) -> bool {
        self.with(|state| state.redeliver(id))
    }

    /// Waits until all deliveries were answered, or have failed.
    pub async fn quiesce(&self) {
        let mut pending = self.with(|state| state.pending.subscribe());
        self.shared.flush.notify_one();
        // The sender lives as long as `self.shared`.
        let _ = pending.wait_for(|pending| *pending == 0).await;
    }

    /// Waits until something is there, looked at now and after every request and every delivery. Waits for ever where
    /// it never comes: put a limit around it.
    pub async fn until<T>(&self, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        loop {
            // What changes from here on wakes it, whether it is seen by this look or not.
            changes.borrow_and_update();
            if let Some(found) = look(self) {
                return found;
            }
            // The sender lives as long as `self.shared`.
            let _ = changes.changed().await;
        }
    }

    /// Sets what goes wrong by chance.
    pub fn set_faults(&self, faults: Faults) {
        self.with(|state| state.faults = faults);
    }

    /// Adds a fault for the next requests of a kind.
    pub fn add_rule(&self, rule: Rule) {
        self.with(|state| state.rules.push(rule));
    }

    /// Takes all rules back.
    pub fn clear_rules(&self) {
        self.with(|state| state.rules.clear());
    }

    /// The requests to the API, oldest first; the newest 20,000.
    #[must_use]
    pub fn requests(&self) -> Vec<Logged> {
        self.with(|state| state.requests.iter().cloned().collect())
    }

    /// Forgets the requests.
    pub fn clear_requests(&self) {
        self.with(|state| state.requests.clear());
    }

    /// What was wrong with requests and answers.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.with(|state| state.violations.clone())
    }
}
