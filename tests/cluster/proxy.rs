//! A proxy before both servers: it counts what is asked, and loses answers that were given.

use std::collections::{BTreeSet, VecDeque};
use std::io::Write as _;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::http::{Message, ask};

/// Which of the two was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    Iris,
    Finelog,
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) server: Server,
    /// The method of the service; `HEAD` or `GET` and the path for what is none.
    pub(super) method: String,
    pub(super) request: Value,
    pub(super) status: u16,
    pub(super) answer: Value,
}

/// What becomes of an answer that the server gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection breaks before a byte of it comes.
    Broken,
    /// Another one comes in its place: the server is not available.
    Unavailable,
}

#[derive(Debug, Default)]
struct Kept {
    calls: Vec<Call>,
    /// Faults that the next calls of a method meet.
    faults: VecDeque<(&'static str, Fault)>,
}

/// The proxy. Threads of it live as long as the test program.
#[derive(Debug)]
pub(super) struct Proxy {
    address: String,
    kept: Arc<Mutex<Kept>>,
}

fn held(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// A proxy before an Iris and a Finelog, each `host:port`.
    pub(super) fn start(iris: &str, finelog: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let kept = Arc::<Mutex<Kept>>::default();
        let (mine, iris, finelog) = (Arc::clone(&kept), iris.to_owned(), finelog.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, iris, finelog) = (Arc::clone(&mine), iris.clone(), finelog.clone());
                // Whoever asked sees a broken connection where this fails.
                std::thread::spawn(move || drop(pass(stream, &kept, &iris, &finelog)));
            }
        });
        Self { address, kept }
    }

    /// The configuration of the program with this proxy as the cluster `rig`.
    pub(super) fn configuration(&self) -> String {
        let address = &self.address;
        format!("[clusters.rig]\ncontroller = \"http://{address}/iris\"\nfinelog = \"http://{address}/finelog\"\n")
    }

    /// The next call of `method` that is carried out meets a fault; after those that were asked for before.
    pub(super) fn fail(&self, method: &'static str, fault: Fault) {
        held(&self.kept).faults.push_back((method, fault));
    }

    /// No fault is met any more.
    pub(super) fn heal(&self) {
        held(&self.kept).faults.clear();
    }

    /// All calls so far.
    pub(super) fn calls(&self) -> Vec<Call> {
        held(&self.kept).calls.clone()
    }

    /// The names of all jobs that a controller accepted.
    pub(super) fn launched(&self) -> BTreeSet<String> {
        let launches = self.calls().into_iter().filter(|call| call.method == "LaunchJob" && call.status == 200);
        launches.map(|call| call.request["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Passes one call on.
fn pass(mut stream: TcpStream, kept: &Mutex<Kept>, iris: &str, finelog: &str) -> std::io::Result<()> {
    let request = Message::request(&mut stream)?;
    let (verb, path) = request.asks();
    let (server, path) = match (path.strip_prefix("/iris"), path.strip_prefix("/finelog")) {
        (Some(path), _) => (Server::Iris, path),
        (None, Some(path)) => (Server::Finelog, path),
        (None, None) => panic!("neither of the two: {path}"),
    };
    let upstream = if server == Server::Iris { iris } else { finelog };
    let (answer, raw) = ask(upstream, verb, path, &request.body)?;
    let method =
        if verb == "POST" { path.rsplit('/').next().unwrap_or_default().to_owned() } else { format!("{verb} {path}") };
    let fault = {
        let mut kept = held(kept);
        let meets = |(of, _): &&(&str, Fault)| *of == method && answer.status() == 200;
        let fault = kept.faults.front().filter(meets).map(|(_, fault)| *fault);
        if fault.is_some() {
            kept.faults.pop_front();
        }
        let (status, answer) = (answer.status(), answer.json());
        kept.calls.push(Call { server, method, request: request.json(), status, answer });
        fault
    };
    match fault {
        None => stream.write_all(&raw),
        Some(Fault::Broken) => stream.shutdown(Shutdown::Both),
        Some(Fault::Unavailable) => {
            let body = r#"{"code":"unavailable","message":"made by a test"}"#;
            let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len())
        }
    }
}
