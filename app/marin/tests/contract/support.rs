//! Where the assertions are made.

use std::sync::Arc;
use std::time::Duration;

use marin::iris::{Command, Constraint, Entrypoint, Environment, LaunchRequest, PriorityBand, Resources};
use marin::retry::Later;
use marin::{Clock, Finelog, Iris, JobId, Login, RetryPolicy, Transport};

/// The clock of the machine. The jitter is fixed: nothing here depends on it.
#[derive(Debug)]
pub(crate) struct SystemClock(std::time::Instant);

#[allow(clippy::disallowed_methods)] // the outermost layer of a test is where clocks are made
impl SystemClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(std::time::Instant::now()))
    }
}

#[allow(clippy::disallowed_methods)] // as above
impl Clock for SystemClock {
    fn unix(&self) -> Duration {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970")
    }
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
    fn jitter(&self) -> f64 {
        0.5
    }
    fn sleep(&self, time: Duration) -> Later<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A client beside that of the crate.
pub(crate) fn http() -> reqwest::Client {
    // An error says that one is installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("builds")
}

/// Two servers and how jobs are called there.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) iris: String,
    pub(crate) finelog: String,
    /// Part of each job's name: fresh on real servers, that of the recording otherwise.
    pub(crate) tag: String,
    /// How long to wait between questions.
    pub(crate) pause: Duration,
    pub(crate) clock: Arc<SystemClock>,
}

impl Subject {
    pub(crate) fn recorded(server: &str) -> Self {
        Self {
            iris: format!("{server}/iris"),
            finelog: format!("{server}/finelog"),
            tag: "recorded".into(),
            pause: Duration::ZERO,
            clock: SystemClock::new(),
        }
    }

    pub(crate) fn real() -> Option<Self> {
        std::env::var_os("ZEPHYR_AB_RIG")?;
        let port = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
        let clock = SystemClock::new();
        Some(Self {
            iris: format!("http://127.0.0.1:{}", port("IRIS_PORT", "10000")),
            finelog: format!("http://127.0.0.1:{}", port("FINELOG_PORT", "10001")),
            tag: format!("{:x}", clock.unix().as_millis()),
            pause: Duration::from_millis(200),
            clock,
        })
    }

    fn transport(&self, base: &str) -> Transport {
        Transport::new(base, Login::none(), self.clock.clone()).expect("an address").with_retry(RetryPolicy::NEVER)
    }

    pub(crate) fn iris(&self) -> Iris {
        Iris::new(self.transport(&self.iris))
    }

    pub(crate) fn finelog(&self) -> Finelog {
        Finelog::new(self.transport(&self.finelog))
    }

    pub(crate) fn finelog_through_iris(&self) -> Finelog {
        Finelog::through_controller(&self.transport(&self.iris))
    }

    pub(crate) fn job(&self, name: &str) -> JobId {
        JobId::new(&format!("/bot/contract-{}-{name}", self.tag)).expect("a job id")
    }

    /// A small job that prints `lines` lines, waits, and exits with a code.
    pub(crate) fn request(&self, name: &str, lines: u32, seconds: &str, code: i32) -> LaunchRequest {
        let argv = ["python", "hello.py", &lines.to_string(), seconds, &code.to_string()];
        LaunchRequest {
            name: self.job(name).to_string(),
            entrypoint: Entrypoint {
                run_command: Command { argv: argv.map(str::to_owned).to_vec(), ..Command::default() },
                ..Entrypoint::default()
            },
            resources: Resources {
                cpu_millicores: 100,
                memory_bytes: 1 << 28,
                disk_bytes: 1 << 28,
                ..Resources::default()
            },
            environment: Environment {
                env_vars: [("PYTHONUNBUFFERED".to_owned(), "1".to_owned())].into(),
                ..Environment::default()
            },
            bundle_blob: include_bytes!("../fixtures/hello.zip").to_vec(),
            constraints: vec![Constraint::one_of("region", &["europe-west4"])],
            replicas: 1,
            priority_band: PriorityBand::Batch,
            ..LaunchRequest::default()
        }
    }

    /// A call as it is, for what the client does not offer.
    pub(crate) async fn post(&self, method: &str, body: serde_json::Value) {
        let url = format!("{}/{method}", self.iris);
        let answer = http().post(url).json(&body).send().await;
        assert!(answer.expect("an answer").status().is_success());
    }
}
