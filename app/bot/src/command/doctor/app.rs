//! The app at the forge: whether it is the one of the configuration, may do what is needed, is told of what is needed, and is
//! installed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use domain::ports::forge::{ForgeError, LoggedDelivery};
use domain::ports::{Clock as _, Forge as _};
use domain::time::{DAY, MINUTE, Ms, utc};
use github::needs::{EVENTS, PERMISSIONS, suffices};
use github::{AppFacts, GitHub, HookFacts, Installation};
use secrecy::{ExposeSecret as _, SecretString};

use super::host::Host;
use super::key;
use super::said::{Check, Report, seconds};
use crate::config::{ServiceConfig, ServiceSecrets};
use crate::service::run::forge;

/// Clocks that differ by more than this are far apart, milliseconds. A login may not be from the forge's future.
const FAR: u64 = MINUTE;
/// Clocks that differ by more than this are looked at, milliseconds.
const APART: u64 = MINUTE / 2;
/// The checks that need an answer of the forge, in their order.
const AFTER_APP: [&str; 7] = ["slug", "permissions", "events", "webhook", "clock", "installations", "deliveries"];

/// All of it.
pub(super) async fn check(report: &mut Report<'_, '_>, service: &ServiceConfig, host: &Host) {
    let Some((forge, facts)) = identity(report, service, host).await else {
        for what in AFTER_APP {
            report.add(Check::skipped(what, "app"));
        }
        return;
    };
    let settings = settings_of(service, &facts.slug);
    slug(report, service, &facts);
    permissions(report, &facts.permissions, &settings);
    events(report, &facts, &settings);
    match forge.hook().await {
        Ok(hook) => webhook(report, service, &hook, &settings),
        Err(why) => report.add(Check::fail("webhook", why.to_string(), reach(&why))),
    }
    clock(report, facts.clock_offset_ms);
    installations(report, service, &forge, &facts).await;
    deliveries(report, &forge, &settings).await;
}

/// Where the settings of the app are.
fn settings_of(service: &ServiceConfig, slug: &str) -> String {
    format!("{}/settings/apps/{slug}", service.github.web_url)
}

/// What to do about a call that failed.
fn reach(why: &ForgeError) -> String {
    match why {
        ForgeError::Unavailable(_) => {
            "see that this machine may connect to github.api_url, and that it answers".to_owned()
        }
        ForgeError::Limited { until, .. } => format!("wait until {}", utc(*until)),
        ForgeError::Forbidden(_) | ForgeError::Gone(_) | ForgeError::Refused(_) => {
            "see that github.api_url is right, and that the app has not been deleted".to_owned()
        }
    }
}

/// Each key by itself: a service goes on with one that works, and nobody notices that another one does not.
async fn identity(report: &mut Report<'_, '_>, service: &ServiceConfig, host: &Host) -> Option<(GitHub, AppFacts)> {
    const FORGE: &str = "app";
    let mut works = None;
    if host.keys.is_empty() {
        report.add(Check::skipped(FORGE, "private key"));
        return None;
    }
    for (source, key) in &host.keys {
        let asked = ask(service, key).await;
        let check = match asked {
            Ok((forge, facts)) if facts.id == service.github.app_id => {
                let check = Check::ok(FORGE, format!("{} is app {}, and takes {source}", facts.slug, facts.id));
                works.get_or_insert((forge, facts));
                check
            }
            Ok((_, facts)) => Check::fail(
                FORGE,
                format!("{source} belongs to app {}, not to {}", facts.id, service.github.app_id),
                "correct github.app_id, or name the key of that app",
            ),
            Err(Asked::Forge(why @ ForgeError::Forbidden(_))) => Check::fail(
                FORGE,
                format!("{source} is not taken: {why}"),
                format!(
                    "see that {} is the App ID in the settings of the app, and that the key {} is among its private keys; if \
                     not, correct github.app_id or make a new key there",
                    service.github.app_id,
                    print_of(key)
                ),
            ),
            Err(Asked::Forge(why)) => Check::fail(FORGE, why.to_string(), reach(&why)),
            Err(Asked::Setup(why)) => Check::fail(FORGE, why, "correct [github]"),
        };
        report.add(check);
    }
    works
}

fn print_of(key: &SecretString) -> String {
    key::fingerprint(key.expose_secret()).map_or_else(|| "of this file".to_owned(), |(_, print)| print)
}

enum Asked {
    Setup(String),
    Forge(ForgeError),
}

async fn ask(service: &ServiceConfig, key: &SecretString) -> Result<(GitHub, AppFacts), Asked> {
    // Nothing but the key is for the forge.
    let secrets = ServiceSecrets {
        private_keys: vec![key.clone()],
        webhook: Vec::new(),
        store_url: SecretString::from(""),
        announce: None,
        warnings: Vec::new(),
    };
    let forge = forge(service, &secrets).map_err(|why| Asked::Setup(why.to_string()))?;
    let facts = forge.app().await.map_err(Asked::Forge)?;
    Ok((forge, facts))
}

fn slug(report: &mut Report<'_, '_>, service: &ServiceConfig, facts: &AppFacts) {
    report.add(match &service.github.slug {
        Some(slug) if *slug != facts.slug => Check::fail(
            "slug",
            format!("the app is called {}, the configuration says {slug}", facts.slug),
            format!("github.slug = \"{}\", or leave it out", facts.slug),
        ),
        Some(slug) => Check::ok("slug", slug),
        None => Check::ok("slug", format!("{}, as the app says", facts.slug)),
    });
}

/// What is missing of what is needed, and what is more than that.
fn compared(granted: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
    let missing = PERMISSIONS.iter().filter(|one| !suffices(granted.get(one.name).map(String::as_str), one.level));
    let missing = missing.map(|one| format!("{}: {} ({})", one.name, one.level, one.why)).collect();
    let more = granted.iter().filter(|(name, level)| {
        let needed = PERMISSIONS.iter().find(|one| one.name == name.as_str());
        needed.is_none_or(|one| !suffices(Some(one.level), level))
    });
    let more = more.map(|(name, level)| format!("{name}: {level}")).collect();
    (missing, more)
}

fn permissions(report: &mut Report<'_, '_>, granted: &BTreeMap<String, String>, settings: &str) {
    let (missing, more) = compared(granted);
    report.add(if !missing.is_empty() {
        Check::fail(
            "permissions",
            format!("the app does not ask for {}", missing.join(", ")),
            format!("set them at {settings}/permissions, and have every installation accept them"),
        )
    } else if !more.is_empty() {
        Check::warn(
            "permissions",
            format!("the app asks for more than is used: {}", more.join(", ")),
            format!("take them away at {settings}/permissions"),
        )
    } else {
        let all: Vec<String> = PERMISSIONS.iter().map(|one| format!("{}: {}", one.name, one.level)).collect();
        Check::ok("permissions", all.join(", "))
    });
}

fn events(report: &mut Report<'_, '_>, facts: &AppFacts, settings: &str) {
    let known = |name: &str| facts.events.iter().any(|event| event == name);
    let missing: Vec<String> =
        EVENTS.iter().filter(|one| !known(one.name)).map(|one| format!("{} ({})", one.name, one.why)).collect();
    let more: Vec<&str> =
        facts.events.iter().map(String::as_str).filter(|event| !EVENTS.iter().any(|one| one.name == *event)).collect();
    report.add(if !missing.is_empty() {
        Check::fail(
            "events",
            format!("the app is not told of {}", missing.join(", ")),
            format!("subscribe to them at {settings}/permissions, under \"Subscribe to events\""),
        )
    } else if !more.is_empty() {
        Check::warn(
            "events",
            format!("the app is told of more than is read: {}", more.join(", ")),
            format!("unsubscribe at {settings}/permissions"),
        )
    } else {
        let all: Vec<&str> = EVENTS.iter().map(|one| one.name).collect();
        Check::ok("events", all.join(", "))
    });
}

fn webhook(report: &mut Report<'_, '_>, service: &ServiceConfig, hook: &HookFacts, settings: &str) {
    let mut wrong = Vec::new();
    let mut todo = String::new();
    let wanted = service.public_url.as_ref().map(|url| format!("{url}/webhook"));
    match (&hook.url, &wanted) {
        (None, _) => {
            wrong.push("there is no webhook, so nothing is ever told".to_owned());
            let _ = write!(todo, "set its URL to https://<host>/webhook and make it active at {settings}");
        }
        (Some(url), Some(wanted)) if url.trim_end_matches('/') != wanted => {
            wrong.push(format!("deliveries go to {url}, and server.public_url is for {wanted}"));
            let _ = write!(todo, "set the URL of the webhook to {wanted} at {settings}, or correct server.public_url");
        }
        _ => {}
    }
    if !hook.json {
        wrong.push("deliveries are not sent as JSON".to_owned());
    }
    if !hook.signed {
        wrong.push("deliveries are not signed".to_owned());
    }
    if todo.is_empty() {
        let _ = write!(todo, "set the content type application/json and the secret at {settings}");
    }
    let url = hook.url.clone().unwrap_or_default();
    report.add(if !wrong.is_empty() {
        Check::fail("webhook", wrong.join("; "), todo)
    } else if hook.insecure {
        Check::warn(
            "webhook",
            format!("{url}, its certificate is not looked at"),
            format!("turn SSL verification on at {settings}"),
        )
    } else if wanted.is_none() {
        Check::warn(
            "webhook",
            format!("deliveries go to {url}; whether that is this service is not known"),
            "set server.public_url to the address under which the forge reaches it, without /webhook",
        )
    } else {
        Check::ok("webhook", url)
    });
}

fn clock(report: &mut Report<'_, '_>, offset: Option<i64>) {
    const SET_IT: &str = "have this machine set its clock (systemd-timesyncd, chrony)";
    let Some(offset) = offset else {
        return report.add(Check::warn("clock", "the forge told no time", SET_IT));
    };
    let apart = offset.unsigned_abs();
    let ahead = offset < 0;
    let said = format!("this machine is {} {} the forge", seconds(apart), if ahead { "ahead of" } else { "behind" });
    report.add(if ahead && apart > FAR {
        Check::fail("clock", format!("{said}: logins are from its future"), SET_IT)
    } else if apart > APART {
        Check::warn("clock", said, SET_IT)
    } else {
        Check::ok("clock", "within half a minute of the forge's")
    });
}

async fn installations(report: &mut Report<'_, '_>, service: &ServiceConfig, forge: &GitHub, facts: &AppFacts) {
    let install = format!("{}/apps/{}/installations/new", service.github.web_url, facts.slug);
    let all = match forge.installations().await {
        Ok(all) => all,
        Err(why) => return report.add(Check::fail("installations", why.to_string(), reach(&why))),
    };
    if all.is_empty() {
        report.add(Check::fail("installations", "the app is installed nowhere", format!("install it at {install}")));
    }
    for one in &all {
        report.add(installation("installations", one, &one.account.clone().unwrap_or_default()));
    }
    for name in &service.repositories {
        report.add(match forge.installed_at(name).await {
            Ok(Some(one)) => installation("repository", &one, name),
            Ok(None) => Check::fail(
                "repository",
                format!("{name} is not reached: the app is not installed there, or there is no such repository"),
                format!("install it for {name} at {install}, or correct service.repositories"),
            ),
            Err(why) => Check::fail("repository", format!("{name}: {why}"), reach(&why)),
        });
    }
}

fn installation(what: &'static str, one: &Installation, name: &str) -> Check {
    let (missing, _) = compared(&one.permissions);
    if one.suspended {
        Check::fail(what, format!("{name}: the app is suspended there"), "ask an owner of it to unsuspend the app")
    } else if !missing.is_empty() {
        Check::fail(
            what,
            format!("{name}: not granted: {}", missing.join(", ")),
            "have an owner of it accept the new permissions, under Settings, GitHub Apps",
        )
    } else {
        Check::ok(what, format!("{name}, with everything granted"))
    }
}

/// Whether a delivery has had the time to arrive.
fn is_old(one: &LoggedDelivery, now: Ms) -> bool {
    now.since(one.at) >= MINUTE / 6
}

/// Which deliveries of the log never arrived, of those that are old enough to have.
fn undelivered(log: &[LoggedDelivery], now: Ms) -> (usize, Vec<&LoggedDelivery>) {
    let mut newest: BTreeMap<&str, (&LoggedDelivery, bool)> = BTreeMap::new();
    for one in log.iter().filter(|one| is_old(one, now)) {
        let known = newest.entry(&one.guid).or_insert((one, false));
        known.1 |= one.ok;
        if one.at > known.0.at {
            known.0 = one;
        }
    }
    let total = newest.len();
    (total, newest.into_values().filter(|(_, arrived)| !arrived).map(|(one, _)| one).collect())
}

async fn deliveries(report: &mut Report<'_, '_>, forge: &GitHub, settings: &str) {
    let now = report.world.machine.clock.now();
    let log = match forge.deliveries(Ms(now.0.saturating_sub(DAY))).await {
        Ok(log) => log,
        Err(why) => return report.add(Check::fail("deliveries", why.to_string(), reach(&why))),
    };
    let (total, failed) = undelivered(&log, now);
    let todo = format!(
        "see that the service runs and that the forge reaches its webhook; {settings}/advanced shows what was answered. \
         The service fetches what it missed once it runs"
    );
    let newest = log.iter().filter(|one| is_old(one, now)).map(|one| one.at).max();
    report.add(match failed.iter().max_by_key(|one| one.at) {
        None if total == 0 => Check::ok("deliveries", "none of the last day is known to have failed"),
        None => Check::ok("deliveries", format!("all {total} of the last day arrived")),
        Some(last) => {
            let count = format!("{} of {total} of the last day did not arrive", failed.len());
            let found = format!("{count}, {} {} the last", last.event, utc(last.at));
            if newest.is_some_and(|newest| newest > last.at) {
                Check::ok("deliveries", format!("{found}; the newest did"))
            } else {
                Check::warn("deliveries", found, todo)
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_and_what_is_more() {
        let whole = || -> BTreeMap<String, String> {
            PERMISSIONS.iter().map(|one| (one.name.to_owned(), one.level.to_owned())).collect()
        };
        assert_eq!(compared(&whole()), (vec![], vec![]));
        let with = |name: &str, level: Option<&str>| {
            let mut all = whole();
            match level {
                Some(level) => all.insert(name.to_owned(), level.to_owned()),
                None => all.remove(name),
            };
            let (missing, more) = compared(&all);
            (missing.len(), more)
        };
        assert_eq!(with("issues", Some("read")), (1, vec![]));
        assert_eq!(with("issues", None), (1, vec![]));
        assert_eq!(with("contents", Some("write")), (0, vec!["contents: write".to_owned()]));
        assert_eq!(with("actions", Some("read")), (0, vec!["actions: read".to_owned()]));
    }

    #[test]
    fn what_did_not_arrive() {
        let one = |guid: &str, at: u64, ok: bool| LoggedDelivery {
            id: at,
            guid: guid.to_owned(),
            at: Ms(at),
            ok,
            event: "issue_comment".to_owned(),
        };
        let log = [
            one("a", 1, false),
            one("a", 2, true),
            one("b", 3, false),
            one("b", 4, false),
            one("young", MINUTE, false),
        ];
        let (total, failed) = undelivered(&log, Ms(MINUTE));
        assert_eq!((total, failed.iter().map(|one| one.at).collect::<Vec<_>>()), (2, vec![Ms(4)]));
    }
}
