//! How long a delivery waits until it is on stable storage: `receive` at a steady rate, beside what a bare write and fsync
//! of about that size costs on the same folder in the same minute.
//!
//! `cargo run --release -p store --example ack -- [FOLDER [RATE [SECONDS [BYTES]]]]`, by default a temporary folder, 300 a
//! second, 20 s, 15 000 bytes.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures this machine and shows it")]

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use domain::ports::Desk;
use domain::ports::desk::Delivery;
use domain::time::Ms;
use store::{Options, SqlStore};

type Failure = Box<dyn std::error::Error>;

fn delivery(n: u64, bytes: usize) -> Delivery {
    Delivery {
        guid: format!("{:08x}-0000-4000-8000-{n:012x}", n.wrapping_mul(2_654_435_761) & 0xffff_ffff),
        event: "issue_comment".to_owned(),
        headers: "{\"x-github-event\":\"issue_comment\"}".to_owned(),
        payload: "x".repeat(bytes),
        received: Ms(n),
    }
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: f64| {
        let rank = (part * times.len() as f64).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the length")]
        let index = (rank as usize).clamp(1, times.len().max(1)) - 1;
        times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
    };
    println!(
        "{what}: n={} p50={:.2} p90={:.2} p99={:.2} p99.9={:.2} max={:.2} ms",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

/// One write of 16 kB and one fsync, at the end of a file that grows, ten times a second.
fn bare(folder: &Path, seconds: u64) -> Result<Vec<Duration>, Failure> {
    let mut file = std::fs::File::create(folder.join("bare"))?;
    let bytes = vec![b'x'; 16_384];
    let mut times = Vec::new();
    for _ in 0..seconds * 10 {
        let begun = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        times.push(begun.elapsed());
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(times)
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let named = args.next().map(std::path::PathBuf::from);
    let mut number = |default| args.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (rate, seconds, bytes) = (number(300)?.max(1), number(20)?, usize::try_from(number(15_000)?)?);
    let temporary = tempfile::tempdir()?;
    let folder = named.unwrap_or_else(|| temporary.path().to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;

    // Alone first: this is what the disk gives when nothing else of this program uses it.
    show("bare write and fsync, alone", bare(&folder, seconds.min(5))?);
    let acks = runtime.block_on(async {
        let store = SqlStore::open(&format!("sqlite:{}/ack.db", folder.display()), Options::default()).await?;
        let beside = {
            let folder = folder.clone();
            std::thread::spawn(move || bare(&folder, seconds).map_err(|error| error.to_string()))
        };
        let mut tick = tokio::time::interval(Duration::from_secs(1) / u32::try_from(rate)?);
        let mut asks = Vec::new();
        for n in 0..rate * seconds {
            tick.tick().await;
            let (store, delivery) = (store.clone(), delivery(n, bytes));
            asks.push(tokio::spawn(async move {
                let begun = Instant::now();
                store.receive(delivery).await.map(|_| begun.elapsed())
            }));
        }
        let mut times = Vec::new();
        for ask in asks {
            times.push(ask.await??);
        }
        store.close().await;
        show("bare write and fsync, beside", beside.join().map_err(|_| "the other thread ended")??);
        Ok::<_, Failure>(times)
    })?;
    show("receive", acks);
    Ok(())
}
