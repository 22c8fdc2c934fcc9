//! One page on this machine: its form brings the manifest to the forge, and the forge sends the browser back with a code.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::exchange::{Made, exchange};
use super::text::Wanted;
use super::{Args, plain};
use crate::cli::World;
use crate::failure::Failure;

/// Where the forge sends the browser back to.
const BACK: &str = "/made";

/// What the page knows.
struct Page {
    /// Where it is: `127.0.0.1:<port>`.
    here: SocketAddr,
    /// Where the form goes.
    to: String,
    /// The manifest, as JSON.
    manifest: String,
    /// What the forge has to say again: whoever does not know it did not come from this page.
    state: String,
    /// Where the forge's pages are.
    web: String,
    /// Where its API is.
    api: String,
    /// What came of the code.
    done: mpsc::Sender<Result<Made, Failure>>,
}

/// What the browser is sent back with.
#[derive(Deserialize)]
struct Sent {
    code: Option<String>,
    state: Option<String>,
}

/// Serves the page until an app was made, or somebody interrupts.
///
/// # Errors
/// The port is taken, the forge does not take the code, or it was interrupted.
pub(super) async fn serve(args: &Args, wanted: &Wanted<'_>, world: &mut World<'_>) -> Result<Made, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).await;
    let listener = listener.with_context(|| format!("port {} on 127.0.0.1", args.port))?;
    let here = listener.local_addr().context("no address")?;
    let state = random()?;
    let web = plain(&args.web).to_owned();
    let settings = match &args.org {
        Some(org) => format!("{web}/organizations/{org}/settings/apps/new"),
        None => format!("{web}/settings/apps/new"),
    };
    let (done, mut made) = mpsc::channel(1);
    let page = Arc::new(Page {
        here,
        to: format!("{settings}?state={state}"),
        manifest: wanted.manifest(Some(&format!("http://{here}{BACK}"))).to_string(),
        state,
        web,
        api: plain(&args.api).to_owned(),
        done,
    });
    let router = Router::new().route("/", get(start)).route(BACK, get(back)).with_state(page);
    writeln!(world.stdout, "Open this in a browser on this machine, and agree there:\n  http://{here}/")?;
    world.stdout.flush()?;
    let cannot = || "cannot listen for Ctrl-C";
    let mut interrupt = signal(SignalKind::interrupt()).with_context(cannot)?;
    let mut terminate = signal(SignalKind::terminate()).with_context(cannot)?;
    let stop = CancellationToken::new();
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    let server = tokio::spawn(async move { server.await });
    let ended = tokio::select! {
        made = made.recv() => made.unwrap_or_else(|| Err(anyhow::anyhow!("the page has ended").into())),
        _ = interrupt.recv() => Err(Failure::Usage("interrupted: no app was made that is known here".to_owned())),
        _ = terminate.recv() => Err(Failure::Usage("interrupted: no app was made that is known here".to_owned())),
    };
    // The browser is still being answered.
    stop.cancel();
    drop(server.await);
    ended
}

/// 32 digits that nobody guesses.
fn random() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    SysRng.try_fill_bytes(&mut bytes).context("no random number")?;
    Ok(hex::encode(bytes))
}

/// Whether the browser means this page: another name may be somebody else's that leads here.
fn is_here(page: &Page, headers: &HeaderMap) -> bool {
    let host = headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
    host == page.here.to_string() || host == format!("localhost:{}", page.here.port())
}

async fn start(State(page): State<Arc<Page>>, headers: HeaderMap) -> Response {
    if !is_here(&page, &headers) {
        return answer(&page, StatusCode::MISDIRECTED_REQUEST, "<p>This is not the page that you mean.</p>");
    }
    let mut inner = String::from("<h1>A GitHub App for zephyr-ab</h1><p>It will ask for:</p><ul>");
    for one in github::needs::PERMISSIONS {
        // Writing to a text cannot fail; so below.
        let _ = write!(inner, "<li>{}: {}, for {}</li>", one.name, one.level, one.why);
    }
    inner.push_str("</ul><p>It will be told when:</p><ul>");
    for one in github::needs::EVENTS {
        let _ = write!(inner, "<li>{} ({})</li>", one.why, one.name);
    }
    let _ = write!(
        inner,
        "</ul><form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"manifest\" value=\"{}\">\
         <button>Make it at {}</button></form>",
        escaped(&page.to),
        escaped(&page.manifest),
        escaped(&page.web)
    );
    answer(&page, StatusCode::OK, &inner)
}

async fn back(State(page): State<Arc<Page>>, headers: HeaderMap, Query(sent): Query<Sent>) -> Response {
    if !is_here(&page, &headers) {
        return answer(&page, StatusCode::MISDIRECTED_REQUEST, "<p>This is not the page that you mean.</p>");
    }
    if sent.state.as_deref() != Some(page.state.as_str()) {
        let text = "<p>This did not come from the page here: nothing was done. <a href=\"/\">Begin again</a>.</p>";
        return answer(&page, StatusCode::BAD_REQUEST, text);
    }
    let Some(code) = sent.code.and_then(|code| super::code(&code).ok()) else {
        return answer(&page, StatusCode::BAD_REQUEST, "<p>There is no code: <a href=\"/\">begin again</a>.</p>");
    };
    let made = exchange(&page.api, &code).await;
    let (status, text) = match &made {
        Ok(made) => {
            let install = format!("{}/apps/{}/installations/new", page.web, made.slug);
            let text = format!(
                "<h1>{} is made</h1><p>Its private key and its secret are written to files. <a href=\"{}\">Install it</a>, and \
                 go back to the terminal.</p>",
                escaped(&made.slug),
                escaped(&install)
            );
            (StatusCode::OK, text)
        }
        Err(why) => (StatusCode::BAD_GATEWAY, format!("<p>{}</p>", escaped(&why.to_string()))),
    };
    let response = answer(&page, status, &text);
    // Who comes a second time is not needed any more.
    let _ = page.done.try_send(made);
    response
}

fn answer(page: &Page, status: StatusCode, inner: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>zephyr-ab</title></head><body>{inner}</body></html>\n"
    );
    // The form may lead to the forge, which leads back here.
    let policy = format!(
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action {} http://{}",
        page.web, page.here
    );
    let headers = [
        ("content-type", "text/html; charset=utf-8".to_owned()),
        ("content-security-policy", policy),
        ("cache-control", "no-store".to_owned()),
    ];
    (status, headers, html).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_an_attribute() {
        assert_eq!(escaped("\"><script>'&"), "&quot;&gt;&lt;script&gt;&#39;&amp;");
        assert_ne!(random().unwrap(), random().unwrap());
    }
}
