//! Wire, tokens, lanes and names together.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ports::forge::{ForgeError, Repo};
use http::{Method, Uri};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clock::Clock;
use crate::comments::Turns;
use crate::identity::Slug;
use crate::keys::Keys;
use crate::lane::Lane;
use crate::names::{Homes, Names};
use crate::objects::{Installed, NewToken, Repository};
use crate::pages;
use crate::permissions::Remembered;
use crate::redact::words;
use crate::settings::{Settings, SetupError};
use crate::times;
use crate::tokens::{Held, Key, Need, Tokens};
use crate::verdict;
use crate::wire::{Reply, Wire};

/// Tries of what may be repeated.
const TRIES: u32 = 3;
/// Before the second try; three times as long before the third.
const FIRST_WAIT_MS: u64 = 500;
/// No try begins later than this after the first: whoever waits has an outbox.
const BUDGET_MS: u64 = 5_000;
/// Of the app itself, which is no installation.
const APP: u64 = 0;
/// A token whose end cannot be read is used for this long and the margin.
const UNREAD_END_MS: u64 = 10 * 60_000;

/// One GitHub, one app.
pub(crate) struct Hub {
    pub(crate) wire: Wire,
    pub(crate) keys: Keys,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) names: Names,
    pub(crate) homes: Homes,
    pub(crate) slug: Slug,
    pub(crate) remembered: Remembered,
    pub(crate) turns: Turns,
    pub(crate) app_id: u64,
    tokens: Tokens,
    lanes: Mutex<HashMap<u64, Arc<Lane>>>,
    pause: u64,
}

/// How a request is repeated when nobody knows whether it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It changes nothing: as a whole.
    Read,
    /// It changes something, and the same when it is repeated: as a whole.
    Write,
    /// It makes something: not at all. Whoever asks looks first.
    Make,
}

/// A request about a repository.
pub(crate) struct Ask<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) method: Method,
    /// What comes after `/repos/{owner}/{repo}`.
    pub(crate) tail: String,
    pub(crate) body: Option<Value>,
    pub(crate) how: How,
    pub(crate) need: Need,
}

/// An answer about something in a repository that is there.
pub(crate) enum Answer {
    /// Success.
    Is(Reply),
    /// The repository is there, and what was asked for is not.
    Missing(String),
}

/// Who asks.
#[derive(Clone, Copy)]
enum Login {
    App,
    Installation(Key),
}

impl Answer {
    /// The answer; an error where the thing is missing.
    pub(crate) fn there(self) -> Result<Reply, ForgeError> {
        match self {
            Self::Is(reply) => Ok(reply),
            Self::Missing(why) => Err(ForgeError::Gone(why)),
        }
    }
}

impl<'a> Ask<'a> {
    pub(crate) fn get(repo: &'a Repo, tail: String) -> Self {
        Self { repo, method: Method::GET, tail, body: None, how: How::Read, need: Need::Api }
    }

    pub(crate) fn write(repo: &'a Repo, method: Method, tail: String, body: Option<Value>) -> Self {
        Self { repo, method, tail, body, how: How::Write, need: Need::Api }
    }

    pub(crate) fn make(repo: &'a Repo, tail: String, body: Value) -> Self {
        Self { repo, method: Method::POST, tail, body: Some(body), how: How::Make, need: Need::Api }
    }
}

impl Hub {
    pub(crate) fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        Ok(Self {
            wire: Wire::new(settings)?,
            keys: Keys::new(settings.app_id, &settings.keys)?,
            clock,
            names: Names::default(),
            homes: Homes::default(),
            slug: Slug::default(),
            remembered: Remembered::default(),
            turns: Turns::default(),
            app_id: settings.app_id,
            tokens: Tokens::default(),
            lanes: Mutex::default(),
            pause: settings.write_pause_ms,
        })
    }

    /// Asks about a repository, by the name that it has now and through the installation that reaches it.
    pub(crate) async fn ask(&self, ask: &Ask<'_>) -> Result<Answer, ForgeError> {
        match self.ask_at_home(ask).await {
            Err(ForgeError::Gone(_)) if self.moved(ask.repo).await => self.ask_at_home(ask).await,
            other => other,
        }
    }

    /// Whether another installation reaches the repository than the one that was asked through, as after a transfer.
    pub(crate) async fn moved(&self, repo: &Repo) -> bool {
        // By the number: the name may be somebody else's by now.
        let Ok(reply) = self.ask_app(&format!("/repositories/{}/installation", repo.id)).await else { return false };
        let Some(there) = reply.json::<Installed>().and_then(|found| found.id) else { return false };
        let before = self.homes.of(repo);
        if there == before {
            return false;
        }
        self.homes.learn(repo.id, there);
        let found = self.whereabouts(repo).await.is_ok();
        if !found {
            self.homes.learn(repo.id, before);
        }
        found
    }

    fn login(&self, repo: &Repo, need: Need) -> Login {
        Login::Installation(Key { installation: self.homes.of(repo), repo: repo.id, need })
    }

    async fn ask_at_home(&self, ask: &Ask<'_>) -> Result<Answer, ForgeError> {
        let name = match self.names.of(ask.repo) {
            Some(name) => name,
            None => self.whereabouts(ask.repo).await?,
        };
        let reply = self.ask_by(ask, &name).await?;
        if !missing(&reply) {
            if reply.redirected {
                // It was renamed. What was asked is done: not to know the name yet costs a redirect each time.
                let _ = self.whereabouts(ask.repo).await;
            }
            return Ok(Answer::Is(reply));
        }
        let now = self.whereabouts(ask.repo).await?;
        let reply = if now.eq_ignore_ascii_case(&name) { reply } else { self.ask_by(ask, &now).await? };
        Ok(if missing(&reply) { Answer::Missing(verdict::text(&reply)) } else { Answer::Is(reply) })
    }

    async fn ask_by(&self, ask: &Ask<'_>, name: &str) -> Result<Reply, ForgeError> {
        let address = self.wire.at(&format!("/repos/{name}{}", ask.tail));
        self.exchange(self.login(ask.repo, ask.need), &ask.method, &address, ask.body.as_ref(), ask.how).await
    }

    /// All pages of a list about a repository; `None` where what it is a list of is missing.
    pub(crate) async fn list<T: DeserializeOwned + Send>(
        &self,
        repo: &Repo,
        tail: String,
        items: fn(&Reply) -> Option<Vec<Value>>,
    ) -> Result<Option<Vec<T>>, ForgeError> {
        self.list_for(Need::Api, repo, tail, items).await
    }

    /// The same with a token for something else.
    pub(crate) async fn list_for<T: DeserializeOwned + Send>(
        &self,
        need: Need,
        repo: &Repo,
        tail: String,
        items: fn(&Reply) -> Option<Vec<Value>>,
    ) -> Result<Option<Vec<T>>, ForgeError> {
        let first = match self.ask(&Ask { need, ..Ask::get(repo, tail) }).await? {
            Answer::Is(reply) => reply,
            Answer::Missing(_) => return Ok(None),
        };
        let mut all = Vec::new();
        self.pages(self.login(repo, need), first, |reply| {
            let page = items(reply).ok_or_else(|| verdict::unreadable(reply))?;
            // An item that cannot be read is none of ours.
            all.extend(page.into_iter().filter_map(|item| serde_json::from_value(item).ok()));
            Ok(true)
        })
        .await?;
        Ok(Some(all))
    }

    /// Pages of a list of the app, as long as `take` returns true.
    pub(crate) async fn app_pages(
        &self,
        path: &str,
        take: impl FnMut(&Reply) -> Result<bool, ForgeError> + Send,
    ) -> Result<(), ForgeError> {
        let first = self.ask_app(path).await?;
        self.pages(Login::App, first, take).await
    }

    /// Asks as the app.
    pub(crate) async fn ask_app(&self, path: &str) -> Result<Reply, ForgeError> {
        let reply = self.exchange(Login::App, &Method::GET, &self.wire.at(path), None, How::Read).await?;
        if missing(&reply) { Err(verdict::error(&reply)) } else { Ok(reply) }
    }

    async fn pages(
        &self,
        login: Login,
        first: Reply,
        mut take: impl FnMut(&Reply) -> Result<bool, ForgeError> + Send,
    ) -> Result<(), ForgeError> {
        let mut reply = first;
        for _ in 0..pages::MOST {
            if !take(&reply)? {
                return Ok(());
            }
            let Some(next) = reply.header("link").and_then(pages::next).map(ToOwned::to_owned) else {
                return Ok(());
            };
            if !next.parse::<Uri>().is_ok_and(|next| self.wire.is_here(&next)) {
                return Err(ForgeError::Refused(format!("{}: the next page is on another host", words(&reply.asked))));
            }
            reply = self.exchange(login, &Method::GET, &next, None, How::Read).await?;
            if missing(&reply) {
                return Err(verdict::error(&reply));
            }
        }
        Err(ForgeError::Refused(format!("{}: a list without an end", words(&reply.asked))))
    }

    /// Asks GraphQL with the token of a repository. Its errors come with status 200.
    pub(crate) async fn graphql(&self, repo: &Repo, query: &Value) -> Result<(), ForgeError> {
        let address = &self.wire.places().graphql;
        let reply = self.exchange(self.login(repo, Need::Api), &Method::POST, address, Some(query), How::Write).await?;
        if missing(&reply) {
            return Err(verdict::error(&reply));
        }
        let answer: Value = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        match answer.get("errors") {
            None | Some(Value::Null) => Ok(()),
            Some(errors)
                if errors.as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "RATE_LIMITED")) =>
            {
                Err(ForgeError::Unavailable(verdict::text(&reply)))
            }
            Some(_) => Err(ForgeError::Refused(verdict::text(&reply))),
        }
    }

    /// What the repository is called now.
    pub(crate) async fn whereabouts(&self, repo: &Repo) -> Result<String, ForgeError> {
        let address = self.wire.at(&format!("/repositories/{}", repo.id));
        let gone = |why: String| ForgeError::Gone(format!("repository {} is out of reach: {why}", repo.id));
        let reply = match self.exchange(self.login(repo, Need::Api), &Method::GET, &address, None, How::Read).await {
            Err(ForgeError::Forbidden(why)) => return Err(gone(why)),
            other => other?,
        };
        if missing(&reply) {
            return Err(gone(verdict::text(&reply)));
        }
        let found: Repository = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        match (found.id, found.full_name) {
            (Some(id), Some(name)) if id == repo.id => {
                self.names.learn(id, &name);
                self.names.of(repo).ok_or_else(|| verdict::unreadable(&reply))
            }
            _ => Err(verdict::unreadable(&reply)),
        }
    }

    /// A token for this.
    pub(crate) async fn token(&self, key: Key) -> Result<SecretString, ForgeError> {
        let now = self.keys.theirs(self.clock.now_ms());
        self.tokens.get(key, now, || self.fetch_token(key)).await
    }

    async fn fetch_token(&self, key: Key) -> Result<Held, ForgeError> {
        self.lane(key.installation).open(self.clock.now_ms())?;
        let address = self.wire.at(&format!("/app/installations/{}/access_tokens", key.installation));
        // A token too many does no harm.
        let asked = self.exchange(Login::App, &Method::POST, &address, Some(&key.request()), How::Read).await;
        let reply = match asked {
            // 422: it lacks what the token is to be for. Somebody can grant a permission; a repository has gone.
            Err(ForgeError::Refused(why)) if why.to_lowercase().contains("permission") => {
                return Err(ForgeError::Forbidden(why));
            }
            Err(ForgeError::Refused(why)) => return Err(ForgeError::Gone(why)),
            other => other?,
        };
        if missing(&reply) {
            return Err(verdict::error(&reply));
        }
        // Never quoted: what cannot be read may be a token all the same.
        let made: NewToken = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        let token = made.token.filter(|token| !token.is_empty()).ok_or_else(|| verdict::unreadable(&reply))?;
        let ends = match made.expires_at.as_deref().and_then(times::from_rfc3339) {
            Some(second) => second.saturating_mul(1000),
            None => self.keys.theirs(self.clock.now_ms()).saturating_add(UNREAD_END_MS),
        };
        Ok(Held { token: SecretString::from(token), ends })
    }

    /// Asks, and repeats what may be repeated. Returns successes and what is missing.
    async fn exchange(
        &self,
        login: Login,
        method: &Method,
        address: &str,
        body: Option<&Value>,
        how: How,
    ) -> Result<Reply, ForgeError> {
        let began = self.clock.now_ms();
        let mut wait = FIRST_WAIT_MS;
        for _ in 1..TRIES {
            let error = match self.exchange_once(login, method, address, body, how).await {
                Err(ForgeError::Unavailable(error)) => error,
                other => return other,
            };
            let spent = self.clock.now_ms().saturating_sub(began);
            if how == How::Make || spent.saturating_add(wait) > BUDGET_MS {
                return Err(ForgeError::Unavailable(error));
            }
            self.clock.sleep(wait).await;
            wait *= 3;
        }
        self.exchange_once(login, method, address, body, how).await
    }

    /// One try. Boxed: to ask as an installation may mean to ask for its token first.
    fn exchange_once<'a>(
        &'a self,
        login: Login,
        method: &'a Method,
        address: &'a str,
        body: Option<&'a Value>,
        how: How,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, ForgeError>> + Send + 'a>> {
        Box::pin(async move {
            match login {
                Login::App => self.as_app(method, address, body).await,
                Login::Installation(key) => self.as_installation(key, method, address, body, how).await,
            }
        })
    }

    async fn as_installation(
        &self,
        key: Key,
        method: &Method,
        address: &str,
        body: Option<&Value>,
        how: How,
    ) -> Result<Reply, ForgeError> {
        let lane = self.lane(key.installation);
        let mut replaced = false;
        loop {
            lane.open(self.clock.now_ms())?;
            let token = self.token(key).await?;
            let permit = match how {
                How::Read => lane.read(&*self.clock).await?,
                How::Write | How::Make => lane.write(&*self.clock, self.pause).await?,
            };
            let reply = self.wire.send(method, address, &token, body).await;
            permit.done(self.clock.now_ms());
            let reply = reply.map_err(|no| ForgeError::Unavailable(no.0))?;
            if reply.status.as_u16() == 401 && !replaced {
                replaced = true;
                self.tokens.discard(key, &token).await;
                continue;
            }
            return self.judge(&lane, reply);
        }
    }

    async fn as_app(&self, method: &Method, address: &str, body: Option<&Value>) -> Result<Reply, ForgeError> {
        let lane = self.lane(APP);
        let mut key = self.keys.best();
        let mut refused = 0;
        let mut corrected = false;
        loop {
            let drift = self.keys.drift();
            let jwt = self.keys.jwt(key, self.clock.now_ms()).map_err(ForgeError::Forbidden)?;
            let permit = lane.read(&*self.clock).await?;
            let reply = self.wire.send(method, address, &jwt, body).await;
            let now = self.clock.now_ms();
            permit.done(now);
            let reply = reply.map_err(|no| ForgeError::Unavailable(no.0))?;
            if reply.status.as_u16() != 401 {
                self.keys.accepted(key);
                return self.judge(&lane, reply);
            }
            if !corrected {
                let news = reply.date().is_some_and(|second| self.keys.learn(second, now));
                // Somebody else may have learnt it meanwhile.
                if news || self.keys.drift() != drift {
                    corrected = true;
                    continue;
                }
            }
            refused += 1;
            if refused >= self.keys.len() {
                return self.judge(&lane, reply);
            }
            key = (key + 1) % self.keys.len();
        }
    }

    fn judge(&self, lane: &Lane, reply: Reply) -> Result<Reply, ForgeError> {
        if let Some(limit) = verdict::limit(&reply) {
            let error = lane.limit(limit, verdict::text(&reply), self.clock.now_ms(), |theirs| self.keys.ours(theirs));
            tracing::warn!(%error, "GitHub wants to be left alone");
            return Err(error);
        }
        if !reply.status.is_server_error() {
            lane.answered();
        }
        if reply.status.is_success() || missing(&reply) { Ok(reply) } else { Err(verdict::error(&reply)) }
    }

    fn lane(&self, installation: u64) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.entry(installation).or_default().clone()
    }
}

/// The items of a page that is a plain list.
pub(crate) fn plain(reply: &Reply) -> Option<Vec<Value>> {
    reply.json()
}

fn missing(reply: &Reply) -> bool {
    matches!(reply.status.as_u16(), 404 | 410)
}
