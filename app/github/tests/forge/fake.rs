//! As much of GitHub as the port asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::response::Response;
use octocrab::jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::stage::StillClock;

const FIRST: &str = include_str!("fixtures/test-only-first.pub.pem");
const SECOND: &str = include_str!("fixtures/test-only-second.pub.pem");

/// A request that was received.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    pub(crate) login: String,
    pub(crate) agents: Vec<String>,
    pub(crate) body: Value,
}

/// Something goes wrong, once.
pub(crate) struct Fault {
    pub(crate) method: &'static str,
    /// Part of the path.
    pub(crate) part: &'static str,
    /// What was asked is done all the same.
    pub(crate) done: bool,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
}

impl Fault {
    pub(crate) fn new(method: &'static str, part: &'static str, status: u16) -> Self {
        Self { method, part, done: false, status, headers: vec![], body: json!({ "message": "out of order" }) }
    }

    pub(crate) fn done(self) -> Self {
        Self { done: true, ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl std::fmt::Display) -> Self {
        self.headers.push((name, format!("{value}")));
        self
    }

    pub(crate) fn tells(self, body: Value) -> Self {
        Self { body, ..self }
    }

    pub(crate) fn says(self, message: &str) -> Self {
        Self { body: json!({ "message": message }), ..self }
    }
}

pub(crate) struct Fake {
    pub(crate) seen: Vec<Seen>,
    pub(crate) faults: Vec<Fault>,
    /// What the one repository is called now.
    pub(crate) name: String,
    /// What it was called, as far as that is remembered.
    pub(crate) former: Vec<String>,
    /// Whether the installation reaches it.
    pub(crate) reachable: bool,
    /// `GET .../pulls/7`.
    pub(crate) pull: Value,
    /// By login.
    pub(crate) permissions: BTreeMap<String, Value>,
    pub(crate) comments: BTreeMap<u64, Value>,
    pub(crate) checks: BTreeMap<u64, Value>,
    pub(crate) statuses: Vec<Value>,
    /// Nobody granted `statuses`: no token for it is given, and it is read without (true) or not.
    pub(crate) no_statuses: Option<bool>,
    pub(crate) labels: Vec<String>,
    /// `GET .../contents/{path}`, with the query.
    pub(crate) contents: BTreeMap<String, Value>,
    /// `GET /app/hook/config`.
    pub(crate) hook: Value,
    /// Log of deliveries, newest first.
    pub(crate) log: Vec<Value>,
    pub(crate) tokens: BTreeSet<String>,
    /// GitHub's clock less ours, in milliseconds.
    pub(crate) drift: i64,
    /// The second key is accepted instead of the first.
    pub(crate) rotated: bool,
    pub(crate) page_size: usize,
    address: String,
    prefix: String,
    clock: Arc<StillClock>,
    next: u64,
}

#[derive(Deserialize)]
struct Claims {
    iss: u64,
    iat: u64,
    exp: u64,
}

type Said = (u16, Value);

impl Fake {
    pub(crate) fn new(address: &str, prefix: &str, clock: Arc<StillClock>) -> Self {
        Self {
            seen: vec![],
            faults: vec![],
            name: "octo/demo".into(),
            former: vec![],
            reachable: true,
            pull: Value::Null,
            permissions: BTreeMap::new(),
            comments: BTreeMap::new(),
            checks: BTreeMap::new(),
            statuses: vec![],
            no_statuses: None,
            labels: vec![],
            contents: BTreeMap::new(),
            hook: json!({}),
            log: vec![],
            tokens: BTreeSet::new(),
            drift: 0,
            rotated: false,
            page_size: 100,
            address: address.into(),
            prefix: prefix.into(),
            clock,
            next: 1000,
        }
    }

    /// A comment that is there already.
    pub(crate) fn comment(&mut self, id: u64, login: &str, kind: &str, body: &str) {
        let comment = json!({
            "id": id, "node_id": format!("N{id}"), "body": body, "html_url": format!("https://x/{id}"),
            "user": { "id": 1, "login": login, "type": kind }, "performed_via_github_app": null, "minimized": null,
        });
        self.comments.insert(id, comment);
    }

    pub(crate) fn answer(&mut self, head: &Parts, body: &[u8]) -> Response {
        let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let header = |name| head.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned());
        let seen = Seen {
            method: head.method.to_string(),
            path: path.clone(),
            login: header("authorization").next().unwrap_or_default(),
            agents: header("user-agent").collect(),
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
        };
        self.seen.push(seen.clone());
        let fault = self.faults.iter().position(|fault| fault.method == seen.method && path.contains(fault.part));
        let fault = fault.map(|at| self.faults.remove(at));
        let (mut status, mut body, mut headers) = (500, Value::Null, vec![]);
        if fault.as_ref().is_none_or(|fault| fault.done) {
            (status, body) = self.handle(&seen, &mut headers);
        }
        if let Some(fault) = fault {
            (status, body, headers) = (fault.status, fault.body, fault.headers);
        }
        let mut response = Response::builder().status(status).header("date", http_date(self.now() / 1000));
        for (name, value) in headers {
            response = response.header(name, value);
        }
        let text = if status == 204 { String::new() } else { body.to_string() };
        response.body(Body::from(text)).unwrap()
    }

    fn now(&self) -> u64 {
        self.clock.now().saturating_add_signed(self.drift)
    }

    fn handle(&mut self, seen: &Seen, headers: &mut Vec<(&'static str, String)>) -> Said {
        let path = seen.path.split('?').next().unwrap_or_default();
        let Some(path) = path.strip_prefix(&self.prefix).map(ToOwned::to_owned) else {
            return gone();
        };
        let bearer = seen.login.strip_prefix("Bearer ").unwrap_or_default();
        let known = if path.starts_with("/app") { self.is_ours(bearer) } else { self.tokens.contains(bearer) };
        if !known {
            return (401, json!({ "message": "Bad credentials" }));
        }
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["app"]) => (
                200,
                json!({
                    "id": 5, "slug": "zab", "name": "zephyr-ab", "owner": null, "installations_count": 7,
                    "permissions": { "checks": "write", "odd": null }, "events": ["check_run"],
                }),
            ),
            ("GET", ["app", "hook", "config"]) => (200, self.hook.clone()),
            ("POST", ["graphql"]) => self.fold(seen),
            ("GET", ["app", "installations"]) => (
                200,
                json!([
                    { "id": 3, "account": { "login": "octo" }, "suspended_at": null, "permissions": { "issues": "write" } },
                    { "id": 4, "account": null, "suspended_at": "2026-01-01T00:00:00Z" },
                ]),
            ),
            ("POST", ["app", "installations", "3", "access_tokens"]) => self.new_token(seen),
            ("GET", ["app", "hook", "deliveries"]) => {
                let log = self.log.clone();
                (200, self.page(&log, seen, headers).into())
            }
            ("GET", ["app", "hook", "deliveries", id]) => {
                let found = self.log.iter().find(|one| one["id"].as_u64() == id.parse().ok());
                found.map_or_else(gone, |found| (200, found.clone()))
            }
            ("GET", ["repositories", "11"]) if self.reachable => (200, json!({ "id": 11, "full_name": self.name })),
            (_, ["repositories", "11", tail @ ..]) if self.reachable => self.in_repo(seen, tail, headers),
            (_, ["repos", owner, name, tail @ ..]) if self.reachable => {
                let asked = format!("{owner}/{name}");
                if asked == self.name {
                    self.in_repo(seen, tail, headers)
                } else if self.former.contains(&asked) {
                    let query = seen.path.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
                    let place = format!("{}{}/repositories/11/{}{query}", self.address, self.prefix, tail.join("/"));
                    headers.push(("location", place));
                    (301, json!({ "message": "Moved Permanently" }))
                } else {
                    gone()
                }
            }
            _ => gone(),
        }
    }

    fn in_repo(&mut self, seen: &Seen, tail: &[&str], headers: &mut Vec<(&'static str, String)>) -> Said {
        let number = |text: &str| text.parse::<u64>().unwrap();
        match (seen.method.as_str(), tail) {
            ("GET", ["pulls", "7"]) => (200, self.pull.clone()),
            ("GET", ["collaborators", login, "permission"]) => {
                self.permissions.get(*login).map_or_else(gone, |found| (200, found.clone()))
            }
            ("GET", ["issues", "7", "comments"]) => {
                let all: Vec<Value> = self.comments.values().cloned().collect();
                (200, self.page(&all, seen, headers).into())
            }
            ("POST", ["issues", "7", "comments"]) => {
                self.next += 1;
                let id = self.next;
                self.comment(id, "zab[bot]", "Bot", seen.body["body"].as_str().unwrap());
                (201, self.comments[&id].clone())
            }
            ("DELETE", ["issues", "comments", id]) => match self.comments.remove(&number(id)) {
                Some(_) => (204, Value::Null),
                None => gone(),
            },
            (method, ["issues", "comments", id]) => match self.comments.get_mut(&number(id)) {
                Some(comment) => {
                    if method == "PATCH" {
                        comment["body"] = seen.body["body"].clone();
                    }
                    (200, comment.clone())
                }
                None => gone(),
            },
            ("POST", ["issues", "comments", id, "reactions"]) => {
                if self.comments.contains_key(&number(id)) {
                    (201, json!({ "id": 1 }))
                } else {
                    gone()
                }
            }
            ("GET", ["commits", _, "check-runs"]) => {
                let all: Vec<Value> = self.checks.values().cloned().collect();
                (200, json!({ "total_count": all.len(), "check_runs": self.page(&all, seen, headers) }))
            }
            ("GET", ["commits", _, "status"]) if self.no_statuses == Some(false) => {
                (403, json!({ "message": "Resource not accessible by integration" }))
            }
            ("GET", ["commits", _, "status"]) => {
                let all = self.statuses.clone();
                (200, json!({ "total_count": all.len(), "statuses": self.page(&all, seen, headers) }))
            }
            ("GET", ["issues", "7", "labels"]) => {
                let all: Vec<Value> = self.labels.iter().map(|name| json!({ "name": name })).collect();
                (200, self.page(&all, seen, headers).into())
            }
            ("POST", ["issues", "7", "labels"]) => {
                let added = seen.body["labels"].as_array().unwrap();
                self.labels.extend(added.iter().map(|name| name.as_str().unwrap().to_owned()));
                (200, json!([]))
            }
            ("DELETE", ["issues", "7", "labels", name]) => {
                let name = name.replace("%20", " ").replace("%3A", ":");
                let before = self.labels.len();
                self.labels.retain(|label| *label != name);
                if self.labels.len() < before { (200, json!([])) } else { gone() }
            }
            ("GET", ["contents", ..]) => {
                let asked = seen.path.split_once("/contents/").map(|(_, asked)| asked).unwrap();
                self.contents.get(asked).map_or_else(gone, |found| (200, found.clone()))
            }
            ("POST", ["check-runs"]) => {
                self.next += 1;
                let mut check = seen.body.clone();
                check["id"] = self.next.into();
                check["app"] = json!({ "id": 5 });
                self.checks.insert(self.next, check.clone());
                (201, check)
            }
            ("PATCH", ["check-runs", id]) => match self.checks.get_mut(&number(id)) {
                Some(check) => {
                    for (key, value) in seen.body.as_object().unwrap() {
                        check[key] = value.clone();
                    }
                    (200, check.clone())
                }
                None => gone(),
            },
            _ => gone(),
        }
    }

    /// A page, with the address of the next one.
    fn page(&self, all: &[Value], seen: &Seen, headers: &mut Vec<(&'static str, String)>) -> Vec<Value> {
        let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
        let page: usize = query.split('&').find_map(|pair| pair.strip_prefix("page=")).unwrap_or("1").parse().unwrap();
        if all.len() > page * self.page_size {
            let next = format!("{}{path}?per_page=100&page={}", self.address, page + 1);
            headers.push(("link", format!("<{}{path}?page=1>; rel=\"first\", <{next}>; rel=\"next\"", self.address)));
        }
        all.iter().skip((page - 1) * self.page_size).take(self.page_size).cloned().collect()
    }

    /// Folds the comment of a node.
    fn fold(&mut self, seen: &Seen) -> Said {
        let node = &seen.body["variables"]["id"];
        match self.comments.values_mut().find(|comment| comment["node_id"] == *node) {
            Some(comment) => {
                comment["minimized"] = json!({ "reason": "outdated" });
                (200, json!({ "data": { "minimizeComment": { "minimizedComment": { "isMinimized": true } } } }))
            }
            None => (200, json!({ "data": null, "errors": [{ "type": "NOT_FOUND", "message": "no such node" }] })),
        }
    }

    fn new_token(&mut self, seen: &Seen) -> Said {
        if self.no_statuses.is_some() && !seen.body["permissions"]["statuses"].is_null() {
            let message = "The permissions requested are not granted to this installation.";
            return (422, json!({ "message": message }));
        }
        self.next += 1;
        let token = format!("ghs_{}", self.next);
        self.tokens.insert(token.clone());
        let ends = self.now() / 1000 + 3600;
        (201, json!({ "token": token, "expires_at": rfc3339(ends), "permissions": {} }))
    }

    /// Whether GitHub takes this JWT: signed with a key of the app, and neither of its future nor of its past.
    fn is_ours(&self, jwt: &str) -> bool {
        let key = DecodingKey::from_rsa_pem(if self.rotated { SECOND } else { FIRST }.as_bytes()).unwrap();
        let mut checks = Validation::new(Algorithm::RS256);
        checks.validate_exp = false;
        let now = self.now() / 1000;
        decode::<Claims>(jwt, &key, &checks).is_ok_and(|read| {
            let Claims { iss, iat, exp } = read.claims;
            iss == 5 && iat <= now && exp > now && exp - iat <= 600
        })
    }
}

fn gone() -> Said {
    (404, json!({ "message": "Not Found" }))
}

/// Within the year of the tests: 2026-11-30T00:00:00Z is day 20,787.
fn day_and_clock(unix: u64) -> (u64, String) {
    let second = unix % 86_400;
    (unix / 86_400 - 20_757, format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60))
}

fn rfc3339(unix: u64) -> String {
    let (day, clock) = day_and_clock(unix);
    if day <= 30 { format!("2026-11-{day:02}T{clock}Z") } else { format!("2026-12-{:02}T{clock}Z", day - 30) }
}

fn http_date(unix: u64) -> String {
    let (day, clock) = day_and_clock(unix);
    if day <= 30 {
        format!("Mon, {day:02} Nov 2026 {clock} GMT")
    } else {
        format!("Tue, {:02} Dec 2026 {clock} GMT", day - 30)
    }
}
