//! A workload with its true noise and effects.

use super::dice::Dice;
use crate::support::json::{Json, int, num, object, text};

/// Relative changes near every boundary of the procedure: 0, eps, margins, tolerances, the gross rule.
const SIZES: &[f64] = &[
    1e-13,
    1e-6,
    0.004,
    0.01,
    0.010_000_000_001,
    0.015,
    0.02,
    0.025,
    0.03,
    0.035,
    0.04,
    0.05,
    0.050_000_000_1,
    0.06,
    0.07,
    0.08,
    0.1,
    0.100_000_001,
    0.12,
    0.15,
    0.166,
    0.2,
    0.21,
    0.3,
    0.5,
    1.5,
];

#[derive(Clone, Copy)]
enum Tails {
    Normal,
    Heavy,
    Outliers,
    Bimodal,
}

struct Row {
    name: String,
    cpu: f64,
    elapsed: f64,
    cpu_cv: f64,
    elapsed_cv: f64,
    items: u64,
    bytes: u64,
    shards: Option<u64>,
    executions: Option<u64>,
    peak: f64,
}

/// Rows, noise, and how many rounds are made.
pub(crate) struct World {
    rows: Vec<Row>,
    pub(crate) rounds: usize,
    tails: Tails,
    drift: f64,
    common: f64,
    executions: Option<u64>,
    decimals: Option<i32>,
    /// How much larger the calibration's noise is than that of the trials.
    calm: f64,
    ratios: usize,
}

/// What a treatment changes.
pub(crate) struct Effects {
    cpu: Vec<f64>,
    elapsed: Vec<f64>,
    work: f64,
    peak: f64,
}

const NAMES: &[&str] = &[
    "exact/stage0-Map → Write",
    "tokenize",
    "minhash",
    "fuzzy",
    "a|b`c`",
    "<!-- x -->",
    "@team #12",
    "normalize",
    "líne",
    "",
    "config",
    "stages",
    "work:row",
    "0",
];

impl World {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let count = match dice.weighted(&[0.12, 0.12, 0.5, 0.26]) {
            0 => 1,
            1 => 2,
            2 => 3 + dice.below(6),
            _ => 9 + dice.below(17),
        };
        let rounds = [1, 2, 3, 4, 5, 6 + dice.below(7), 0][dice.weighted(&[0.2, 0.2, 0.2, 0.12, 0.14, 0.13, 0.01])];
        let cv = *dice.pick(&[0.0, 0.001, 0.003, 0.005, 0.005, 0.01, 0.01, 0.01, 0.02, 0.02, 0.03, 0.05, 0.1]);
        let elapsed_cv = *dice.pick(&[0.0, 0.003, 0.01, 0.01, 0.02, 0.02, 0.03, 0.05, 0.1]);
        let (mixed, zipf, odd_names) = (dice.chance(0.2), dice.chance(0.4), dice.chance(0.15));
        let size = dice.magnitude(60.0, 20_000.0);
        let wide = dice.chance(0.25);
        let shards = dice.chance(0.4);
        let executions = dice.chance(0.2);
        let rows = (0..count)
            .map(|i| {
                let place = (i + 1) as f64;
                let scale = if zipf { place.powf(-1.1) } else { 1.0 };
                let spread = if wide { dice.magnitude(0.002, 1.0) } else { dice.magnitude(0.3, 1.0) };
                let cpu = size * scale * spread;
                Row {
                    name: if odd_names && i < NAMES.len() { NAMES[i].to_owned() } else { format!("row{i}") },
                    cpu,
                    elapsed: cpu.powf(0.8) * dice.between(0.5, 1.5) + if wide { 0.0 } else { 8.0 },
                    cpu_cv: if mixed { cv * dice.magnitude(0.25, 4.0) } else { cv },
                    elapsed_cv: if mixed { elapsed_cv * dice.magnitude(0.25, 4.0) } else { elapsed_cv },
                    items: 1_000 + dice.below(5_000_000) as u64,
                    bytes: 8_000 + dice.below(4_000_000_000) as u64,
                    shards: (shards && dice.chance(0.9)).then(|| 1 + dice.below(400) as u64),
                    executions: executions.then(|| 1 + dice.below(4) as u64),
                    peak: dice.magnitude(1e8, 1e10).round(),
                }
            })
            .collect();
        Self {
            rows,
            rounds,
            tails: [Tails::Normal, Tails::Heavy, Tails::Outliers, Tails::Bimodal]
                [dice.weighted(&[0.8, 0.08, 0.08, 0.04])],
            drift: if dice.chance(0.08) { 0.015 } else { 0.0 },
            common: if dice.chance(0.08) { 0.02 } else { 0.0 },
            executions: dice.chance(0.6).then(|| 1 + dice.below(30) as u64),
            decimals: *dice.pick(&[None, None, Some(3), Some(1)]),
            calm: [1.0, 0.2, 4.0][dice.weighted(&[0.86, 0.08, 0.06])],
            ratios: [10, 11 + dice.below(4), 5 + dice.below(5), dice.below(5)]
                [dice.weighted(&[0.56, 0.16, 0.14, 0.14])],
        }
    }

    fn wobble(&self, dice: &mut Dice, cv: f64) -> f64 {
        match self.tails {
            Tails::Normal => cv * dice.normal(),
            Tails::Heavy => cv * dice.heavy(),
            Tails::Outliers => cv * dice.normal() + if dice.chance(0.03) { dice.between(0.14, 0.34) } else { 0.0 },
            Tails::Bimodal => cv / 2.0 * dice.normal() + if dice.chance(0.3) { 1.06f64.ln() } else { 0.0 },
        }
    }

    fn size(dice: &mut Dice) -> f64 {
        if dice.chance(0.6) { *dice.pick(SIZES) } else { dice.between(0.0, 0.3) }
    }

    /// What one treatment changes: nothing, a row, all rows, in CPU time, elapsed time or both.
    pub(crate) fn effects(&self, dice: &mut Dice) -> Effects {
        let rows = self.rows.len();
        let mut effects = Effects { cpu: vec![0.0; rows], elapsed: vec![0.0; rows], work: 0.0, peak: 0.0 };
        let all = |size: f64| vec![size.ln_1p(); rows];
        let some = |dice: &mut Dice, size: f64| {
            let mut v = vec![0.0; rows];
            v[dice.below(rows)] = size.ln_1p();
            v
        };
        let up = Self::size(dice);
        let down = -Self::size(dice).min(0.6);
        let one = dice.chance(0.5);
        let spread = |dice: &mut Dice, size: f64| if one { some(dice, size) } else { all(size) };
        match dice.weighted(&[0.2, 0.22, 0.1, 0.1, 0.1, 0.08, 0.1, 0.05, 0.05]) {
            0 => {}
            1 => effects.cpu = spread(dice, up),
            2 => effects.cpu = spread(dice, down),
            3 => {
                effects.cpu = some(dice, up);
                effects.cpu[dice.below(rows)] = down.ln_1p();
            }
            4 => effects.elapsed = spread(dice, up),
            5 => effects.elapsed = spread(dice, down),
            6 => (effects.cpu, effects.elapsed) = (spread(dice, up), all(down)),
            7 => (effects.cpu, effects.elapsed) = (spread(dice, down), all(up)),
            _ => (effects.cpu, effects.elapsed) = (spread(dice, up), all(up)),
        }
        if dice.chance(0.15) {
            effects.work = *dice.pick(&[0.0009, 0.001, 0.0011, 0.0049, 0.005, 0.0051, 0.1, 0.25, 0.26, -0.0011, -0.2]);
            if effects.work.abs() > 0.005 && dice.chance(0.6) {
                effects.work = 0.002;
            }
        }
        if dice.chance(0.2) {
            effects.peak = dice.between(-0.1, 0.1);
        }
        effects
    }

    /// The `at`-th trial in time of one arm.
    pub(crate) fn trial(&self, dice: &mut Dice, effects: Option<&Effects>, at: usize) -> Json {
        let shift = self.drift * at as f64 + self.common * dice.normal();
        let mut stages = object([]);
        for (i, row) in self.rows.iter().enumerate() {
            let (cpu, elapsed) = effects.map_or((0.0, 0.0), |e| (e.cpu[i], e.elapsed[i]));
            let cpu = row.cpu * (cpu + shift + self.wobble(dice, row.cpu_cv)).exp();
            let elapsed = row.elapsed * (elapsed + shift + self.wobble(dice, row.elapsed_cv)).exp();
            let work = effects.map_or(1.0, |e| e.work.exp());
            let scaled = |count: u64| whole(count as f64 * work);
            let peak = (row.peak * (effects.map_or(0.0, |e| e.peak) + 0.02 * dice.normal()).exp()).round();
            let mut stage = object([
                ("cpu_time_total", self.seconds(cpu)),
                ("elapsed", self.seconds(elapsed)),
                ("items", scaled(row.items)),
                ("bytes_processed", scaled(row.bytes)),
                ("mem_peak_bytes_max", whole(peak)),
            ]);
            if let Some(shards) = row.shards {
                stage.set("total_shards", int(shards));
            }
            if let Some(executions) = row.executions {
                stage.set("row_executions", int(executions));
            }
            if i % 2 == 0 {
                stage.set("status", text("END"));
            }
            stages.set(&row.name, stage);
        }
        let mut trial = object([("stages", stages)]);
        if let Some(executions) = self.executions {
            trial.set("executions", int(executions));
        }
        trial
    }

    fn seconds(&self, x: f64) -> Json {
        num(self.decimals.map_or(x, |d| (x * 10f64.powi(d)).round() / 10f64.powi(d)))
    }

    pub(crate) fn calibration(&self, dice: &mut Dice) -> Json {
        let mut out = object([]);
        if self.ratios == 0 && dice.chance(0.5) {
            return out;
        }
        let grade = ["A", "A5", "B", "C"][dice.weighted(&[0.76, 0.08, 0.1, 0.06])];
        if dice.chance(0.97) {
            out.set("grade", text(grade));
        }
        let partial = dice.chance(0.08);
        let residual = dice.chance(0.15);
        let mut names: Vec<(String, f64, f64)> =
            self.rows.iter().map(|row| (row.name.clone(), row.cpu_cv, row.elapsed_cv)).collect();
        let n = names.len() as f64;
        let mean = |f: fn(&Row) -> f64| self.rows.iter().map(f).sum::<f64>() / n / n.sqrt();
        names.push(("TOTAL".to_owned(), mean(|r| r.cpu_cv), mean(|r| r.elapsed_cv)));
        if dice.chance(0.05) {
            names.push(("elsewhere".to_owned(), 0.01, 0.01));
        }
        if dice.chance(0.2) {
            names.reverse();
        }
        for metric in ["cpu", "elapsed"] {
            if dice.chance(0.02) {
                continue;
            }
            for (name, cpu_cv, elapsed_cv) in &names {
                let cv = if metric == "cpu" { *cpu_cv } else { *elapsed_cv };
                let mut count = self.ratios;
                if partial && dice.chance(0.3) {
                    count = dice.below(count + 1);
                    if dice.chance(0.2) {
                        continue;
                    }
                }
                let ratios = (0..count)
                    .map(|_| {
                        let pair = self.wobble(dice, cv) - self.wobble(dice, cv);
                        num(((pair / self.calm) * 1e6).round() / 1e6)
                    })
                    .collect();
                out.child(metric).set(name, Json::List(ratios));
                if residual && dice.chance(0.8) {
                    let df = *dice.pick(&[0.0, 1.0, 2.0, 2.5, 10.0, 40.0, 3000.0]);
                    let ss = df * 2.0 * cv * cv * dice.magnitude(0.5, 2.0);
                    let grown = object([("ss", num(ss)), ("df", num(df))]);
                    out.child("residual").child(metric).set(name, grown);
                }
            }
        }
        out
    }
}

/// A count, nearest to a number that is not negative and far below 2^53.
fn whole(x: f64) -> Json {
    Json::Num(format!("{:.0}", x.round()))
}
