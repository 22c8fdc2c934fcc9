//! This machine, and the controller of a cluster.

use std::path::Path;
use std::process::{Command, Stdio};

use marin::iris::{Capabilities, CurrentUser, Fields};
use marin::{Code, Error, Iris};
use suite::{Backend, Suite, SuiteRef};

use super::said::{Check, Report};
use super::tables;
use crate::cluster::{clients, is_anonymous, user_of};
use crate::config::{ClusterConfig, Config, TokenConfig};

/// The oldest git whose commands are used as they are meant.
const OLDEST_GIT: (u32, u32) = (2, 38);
/// Fields of a launch without which none is sent, and what they are for.
const FIELDS: [(&str, &str); 6] = [
    ("existingJobPolicy", "so that a launch whose answer was lost starts no second job"),
    ("bundleId", "so that a bundle is sent once"),
    ("constraints", "so that a job runs where its sample is"),
    ("timeout", "so that a job ends at its limit, whatever becomes of this program"),
    ("maxRetriesPreemption", "so that a preempted job goes on"),
    ("priorityBand", "so that a job gives way to others"),
];

/// Git, which commits are read with.
pub(super) fn git(report: &mut Report<'_, '_>) {
    const NEEDED: &str = "install git 2.38 or newer where PATH finds it";
    let path = &report.world.machine.path;
    let ran = Command::new("git").arg("--version").env("PATH", path).stdin(Stdio::null()).output();
    let text = match &ran {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stdout).trim().to_owned(),
        Ok(done) => return report.add(Check::fail("git", format!("it ended with {}", done.status), NEEDED)),
        Err(why) => return report.add(Check::fail("git", format!("it cannot be started: {why}"), NEEDED)),
    };
    report.add(match version(&text) {
        Some(found) if found >= OLDEST_GIT => Check::ok("git", text.trim_start_matches("git version ")),
        Some(_) => Check::fail("git", format!("{text} is too old"), NEEDED),
        None => Check::warn("git", format!("its version is not understood: {text}"), NEEDED),
    });
}

/// Major and minor of `git version 2.47.3 (...)`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("git version ")?.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// All suites, `more` included: what they need is what the clusters are checked for.
pub(super) fn suites(report: &mut Report<'_, '_>, folder: Option<&Path>, more: Option<&Suite>) -> Vec<Suite> {
    const CORRECT_IT: &str = "correct it; zephyr-ab suite check says what it means";
    let names = match suite::names(folder) {
        Ok(names) => names,
        Err(why) => {
            report.add(Check::fail("suites", why.to_string(), "name the folder of the suites with --suites"));
            return more.cloned().into_iter().collect();
        }
    };
    let mut all: Vec<Suite> = Vec::new();
    for name in &names {
        match suite::load(&SuiteRef::Name(name.clone()), folder) {
            Ok(suite) => all.push(suite),
            Err(why) => report.add(Check::fail("suites", why.to_string(), CORRECT_IT)),
        }
    }
    let said: Vec<&str> = all.iter().map(|suite| suite.name.as_str()).collect();
    report.add(Check::ok("suites", said.join(", ")));
    // A suite that is named by its path may have the name of another one.
    all.extend(more.filter(|more| all.iter().all(|known| known.digest != more.digest)).cloned());
    all
}

/// Everything about a cluster. The check that stands against a probe there, if there is one.
pub(super) async fn cluster(
    report: &mut Report<'_, '_>,
    config: &Config,
    name: &str,
    cluster: &ClusterConfig,
    suites: &[&Suite],
) -> Option<&'static str> {
    report.about(&format!("cluster {name}"), &cluster.controller);
    let (iris, finelog, clock) = match clients(config, name, report.world) {
        Ok(clients) => clients,
        Err(why) => {
            report.add(Check::fail("settings", why.to_string(), format!("correct [clusters.{name}]")));
            for what in ["controller", "login", "fields"] {
                report.add(Check::skipped(what, "settings"));
            }
            tables::skipped(report, "settings");
            return Some("settings");
        }
    };
    report.add(Check::ok("settings", settings(cluster)));
    let reached = controller(report, &iris, name).await;
    let mut against = (!reached).then_some("controller");
    if reached {
        let may = login(report, &iris, name, cluster).await;
        against = (!may).then_some("login");
    } else {
        report.add(Check::skipped("login", "controller"));
    }
    if let Some(earlier) = against {
        report.add(Check::skipped("fields", earlier));
    } else if !fields(report, &iris, name, suites).await {
        against = Some("fields");
    }
    let stored = tables::check(report, &finelog, (name, cluster), reached.then_some(&iris), &*clock, suites).await;
    against.or((!stored).then_some("finelog"))
}

/// How calls are let in, without secrets.
fn settings(cluster: &ClusterConfig) -> String {
    let said = |token: &TokenConfig| match token {
        TokenConfig::ServiceAccount { service_account, .. } => format!("service account {}", service_account.display()),
        TokenConfig::File { token_file } => format!("token in {}", token_file.display()),
        TokenConfig::Env { token_env } => format!("token in the variable {token_env}"),
    };
    let proxy = cluster.login.proxy.as_ref().map(|token| format!("for the proxy: {}", said(token)));
    let service = cluster.login.service.as_ref().map(|token| format!("for the controller: {}", said(token)));
    let both: Vec<String> = [proxy, service].into_iter().flatten().collect();
    if both.is_empty() { "calls carry no login".to_owned() } else { both.join("; ") }
}

/// Whether the controller is there.
async fn controller(report: &mut Report<'_, '_>, iris: &Iris, name: &str) -> bool {
    let word = |value: &serde_json::Value, key: &str| value.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    match iris.health().await {
        Ok(health) => {
            let (status, database) = (word(&health, "status"), word(&health, "database"));
            let fine = status.as_deref() == Some("ok") && database.as_deref().is_none_or(|database| database == "ok");
            let said = format!("status {}", status.as_deref().unwrap_or("not said"));
            let said = database.map_or(said.clone(), |database| format!("{said}, database {database}"));
            report.add(if fine {
                Check::ok("controller", said)
            } else {
                Check::warn("controller", said, "ask whoever runs it: launches may fail")
            });
            true
        }
        // Then it is there; the next check says what becomes of a call with a login.
        Err(Error::Rpc { code: Code::Unauthenticated | Code::PermissionDenied, .. }) => {
            report.add(Check::ok("controller", "it answers, and lets nobody in without a login"));
            true
        }
        Err(error) => {
            report.add(Check::fail("controller", error.to_string(), todo(&error, name)));
            false
        }
    }
}

/// What to do about a call that failed.
pub(super) fn todo(error: &Error, name: &str) -> String {
    match error {
        Error::Unreachable { .. } | Error::TimedOut { .. } => {
            let rig = if name == "rig" { " (tests/rig/up.sh starts it)" } else { "" };
            format!(
                "see that it runs{rig} and that this machine may connect to it; the address stands in [clusters.{name}]"
            )
        }
        Error::Login(_) => format!("see the key or token that [clusters.{name}.login] names"),
        Error::Rpc { code: Code::Unauthenticated, .. } => format!(
            "give [clusters.{name}.login] a login that is let in: proxy for an identity-aware proxy (its account must be on \
             the list of the proxy, and audience be its client id), service for the controller itself"
        ),
        Error::Rpc { code: Code::PermissionDenied, .. } => {
            "ask whoever runs the cluster to admit this identity".to_owned()
        }
        Error::Rpc { code: Code::Unimplemented | Code::NotFound, .. } | Error::Malformed { .. } => {
            format!("something else answers there: correct the address in [clusters.{name}]")
        }
        _ => "it answers, but cannot serve: try again, or ask whoever runs the cluster".to_owned(),
    }
}

/// Whether the caller may launch jobs.
async fn login(report: &mut Report<'_, '_>, iris: &Iris, name: &str, cluster: &ClusterConfig) -> bool {
    let user = match iris.current_user().await {
        Ok(user) => user,
        Err(error) => {
            report.add(Check::fail("login", error.to_string(), todo(&error, name)));
            return false;
        }
    };
    let jobs = match user_of(cluster, name, &user) {
        Ok(jobs) => jobs,
        Err(why) => {
            let todo = format!("set user in [clusters.{name}] to letters, digits and -_.@+=~");
            report.add(Check::fail("login", why.to_string(), todo));
            return false;
        }
    };
    let CurrentUser { user_id, role, .. } = &user;
    let who = if is_anonymous(&user) { "anonymous" } else { user_id };
    let of = if is_anonymous(&user) { format!(", the user of [clusters.{name}]") } else { String::new() };
    let who = format!("{who}, role {role}");
    let (check, may) = match role.as_str() {
        "admin" | "user" => (Check::ok("login", format!("{who}; jobs are /{jobs}/...{of}")), true),
        "dashboard" => {
            let todo = "ask whoever runs the cluster to give this identity the role user";
            (Check::fail("login", format!("{who}, which only reads: no job can be launched"), todo), false)
        }
        _ => (Check::warn("login", format!("{who}, which this version does not know"), "try --probe"), true),
    };
    report.add(check);
    may
}

/// Whether the controller knows every field that a launch has.
async fn fields(report: &mut Report<'_, '_>, iris: &Iris, name: &str, suites: &[&Suite]) -> bool {
    let Capabilities { launch, environment } = match iris.capabilities().await {
        Ok(known) => known,
        Err(error) => {
            report.add(Check::fail("fields", error.to_string(), todo(&error, name)));
            return false;
        }
    };
    let lacking: Vec<&(&str, &str)> = FIELDS.iter().filter(|(field, _)| !launch.has(field)).collect();
    if !lacking.is_empty() {
        let said: Vec<String> = lacking.iter().map(|(field, why)| format!("{field} ({why})")).collect();
        let found = format!("the controller does not know {}, and no launch is sent to it", said.join(", "));
        report.add(Check::fail("fields", found, "use a newer controller"));
        return false;
    }
    let scripted =
        |suite: &&Suite| matches!(&suite.backend, Backend::Iris(of) if !of.launcher.setup.scripts.is_empty());
    let scripted: Vec<&str> = suites.iter().copied().filter(scripted).map(|suite| suite.name.as_str()).collect();
    let told = if matches!(environment, Fields::Untold(_)) { "does not say that it knows" } else { "does not know" };
    let (check, fine) = match (environment.has("setupScripts"), launch) {
        (false, _) if !scripted.is_empty() => {
            let found = format!(
                "the controller {told} setupScripts: jobs of {} cannot install what they need",
                scripted.join(", ")
            );
            (Check::fail("fields", found, "use a newer controller, or a suite without setup.scripts"), false)
        }
        (false, _) => {
            let found = format!("the controller {told} setupScripts, which no suite for it has");
            (Check::warn("fields", found, "use a newer controller before a suite gets setup.scripts"), true)
        }
        (true, Fields::Any) => {
            let found = "the controller ignores fields that it does not know, so nobody sees which";
            (Check::warn("fields", found, "try --probe"), true)
        }
        (true, Fields::Untold(_)) => {
            let found = "the controller does not say which it knows: those that every version has are sent";
            (Check::warn("fields", found, "try --probe"), true)
        }
        (true, Fields::Known(_)) => (Check::ok("fields", "existingJobPolicy, setupScripts and the others"), true),
    };
    report.add(check);
    fine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git() {
        for (text, found) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 3.0", Some((3, 0))),
            ("git version 2.rc", None),
            ("hg 1.2", None),
        ] {
            assert_eq!(version(text), found, "{text}");
        }
    }
}
