//! Time per comparison of 20 rows and 3 rounds, from JSON text to verdict and of the verdict alone.
//!
//! `cargo bench -p stats --bench judge -- [--cases N] [--write FILE]`; FILE receives the cases, one a line, so that the
//! reference can be timed on the same ones.

// A bench is a program: it prints, it reads the clock, and it ends when something is wrong.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::expect_used)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

const ROWS: usize = 20;
const ROUNDS: usize = 3;
const RATIOS: usize = 10;

struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn log(&mut self, sd: f64) -> f64 {
        let z: f64 = StandardNormal.sample(&mut self.0);
        sd * z
    }

    fn ratios(&mut self, sd: f64) -> String {
        let list: Vec<String> =
            (0..RATIOS).map(|_| format!("{:.6}", self.log(sd * std::f64::consts::SQRT_2))).collect();
        format!("[{}]", list.join(","))
    }

    fn trial(&mut self, effect: f64) -> String {
        let mut stages = String::new();
        for row in 0..ROWS {
            let size = 100_000.0 / (row as f64 + 1.0).powf(1.1);
            let change = if row == 3 { effect } else { 0.0 };
            let cpu = size * (self.log(0.01) + change).exp();
            let elapsed = size.powf(0.7) * self.log(0.05).exp();
            let comma = if row > 0 { "," } else { "" };
            write!(
                stages,
                "{comma}\"row{row}\":{{\"cpu_time_total\":{cpu:.3},\"elapsed\":{elapsed:.3},\"items\":1000000,\
                 \"bytes_processed\":8000000000,\"mem_peak_bytes_max\":6442450944,\"status\":\"END\"}}"
            )
            .expect("a string");
        }
        format!("{{\"stages\":{{{stages}}},\"executions\":12}}")
    }

    fn calibration(&mut self, sd: f64) -> String {
        let mut rows: Vec<String> = (0..ROWS).map(|row| format!("\"row{row}\":{}", self.ratios(sd))).collect();
        rows.push(format!("\"TOTAL\":{}", self.ratios(sd / 3.0)));
        format!("{{{}}}", rows.join(","))
    }

    fn case(&mut self, at: usize) -> String {
        let cpu = self.calibration(0.01);
        let elapsed = self.calibration(0.05);
        let effect = if at.is_multiple_of(2) { 0.0 } else { 0.1 };
        let rounds: Vec<String> = (0..ROUNDS)
            .map(|_| format!("{{\"control\":{},\"treatment\":{}}}", self.trial(0.0), self.trial(effect)))
            .collect();
        format!(
            "{{\"calibration\":{{\"grade\":\"A\",\"cpu\":{cpu},\"elapsed\":{elapsed}}},\"rounds\":[{}]}}",
            rounds.join(",")
        )
    }
}

fn microseconds(since: Instant, cases: usize) -> f64 {
    since.elapsed().as_secs_f64() * 1e6 / cases as f64
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut cases, mut file) = (4000, None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--cases" => cases = args.next().and_then(|n| n.parse().ok()).expect("--cases N"),
            "--write" => file = Some(args.next().expect("--write FILE")),
            // What cargo itself passes on.
            _ => {}
        }
    }
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(20));
    let texts: Vec<String> = (0..cases).map(|at| noise.case(at)).collect();
    if let Some(file) = file {
        std::fs::write(file, texts.join("\n") + "\n").expect("a file that can be written");
    }
    let start = Instant::now();
    let parsed: Vec<stats::Case> = texts.iter().map(|text| stats::input::parse(text).expect("a case")).collect();
    let reading = microseconds(start, cases);
    let start = Instant::now();
    for case in &parsed {
        black_box(stats::judge(black_box(case)));
    }
    let judging = microseconds(start, cases);
    println!("{cases} comparisons of {ROWS} rows and {ROUNDS} rounds, microseconds each:");
    println!("judge {judging:.2}");
    println!("read and judge {:.2}", reading + judging);
}
