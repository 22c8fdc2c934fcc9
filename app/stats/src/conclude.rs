//! From the rows of one treatment to its verdict: the table of CPU against elapsed, then the run as a whole.

use crate::case::Grade;
use crate::config::Config;
use crate::family::{Direction, Increase, RowStats, Side};
use crate::output::Note;
use crate::reason::{Reason, Verdict};

/// The rows of one treatment, CPU and elapsed side by side, and what else the verdict depends on.
#[derive(Debug)]
pub struct Rows<'a> {
    /// CPU per row, TOTAL last where there is one.
    pub cpu: &'a [RowStats],
    /// Elapsed for the same rows; `None` where a row is not judged by elapsed. Empty: elapsed is not judged at all.
    pub elapsed: &'a [Option<&'a RowStats>],
    /// Whether the last row is TOTAL.
    pub total: bool,
    /// Rounds that count for elapsed.
    pub elapsed_rounds: usize,
    /// Whether a row is dominated by fixed cost and therefore not among these.
    pub overhead_dominated: bool,
    /// Largest peak memory of (control, treatment), bytes.
    pub peaks: [Option<f64>; 2],
    /// Rows that are judged by elapsed and not by CPU.
    pub elapsed_alone: &'a [&'a RowStats],
}

/// Whether the calibration allows a verdict at all.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The grade that the caller named.
    pub named: Grade,
    /// Fewest calibration ratios of a judged row.
    pub ratios: usize,
    /// Whether control and treatment trials come in rounds.
    pub paired: bool,
    /// Rounds, or the smaller number of trials.
    pub rounds: usize,
    /// The largest degrees of freedom of a CPU row.
    pub df: f64,
    /// Whether calibration was ignored because the noise has grown.
    pub ignored: bool,
}

impl Standing {
    /// The grade after its caps: fewer than five ratios are C, fewer than ten A5, unpaired at most B.
    #[must_use]
    pub fn grade(&self) -> Grade {
        let grade = match (self.ratios, self.named) {
            (0..5, _) => Grade::C,
            (5..10, Grade::A) => Grade::A5,
            (_, named) => named,
        };
        if !self.paired && matches!(grade, Grade::A | Grade::A5) { Grade::B } else { grade }
    }

    /// The reason why there are too few rounds for this calibration, if there are.
    #[must_use]
    pub fn refusal(&self, config: &Config) -> Option<Reason> {
        let short = self.df < config.min_df;
        let rounds = self.rounds as f64;
        match self.grade() {
            _ if short && self.ignored => Some(Reason::NoiseChanged),
            Grade::C if short || rounds < config.min_rounds_c => Some(Reason::NoCalibration),
            Grade::B if rounds < config.min_rounds_b => Some(Reason::WeakCalibration),
            _ => None,
        }
    }
}

/// One row as the verdict table sees it.
struct Read {
    cpu: Option<Increase>,
    elapsed: Option<Increase>,
    suspect: Option<Side>,
}

/// The verdict of one treatment: its reason and the verdict of each row.
#[must_use]
pub fn conclude(rows: &Rows<'_>, config: &Config) -> (Reason, Vec<Verdict>) {
    let repeated = rows.elapsed_rounds as f64 >= config.wall_min_rounds;
    let read: Vec<(Read, Verdict)> = rows
        .cpu
        .iter()
        .enumerate()
        .map(|(i, cpu)| row(cpu, rows.elapsed.get(i).copied().flatten(), repeated))
        .collect();
    let (read, mut verdicts): (Vec<Read>, Vec<Verdict>) = read.into_iter().unzip();
    if verdicts.contains(&Verdict::Tradeoff) {
        // Cheaper, and perhaps slower than tolerated: it cannot turn out worse than the tradeoff another row shows.
        for (i, verdict) in verdicts.iter_mut().enumerate() {
            if rows.cpu[i].direction == Direction::Lower && read[i].elapsed == Some(Increase::Open) {
                *verdict = Verdict::Tradeoff;
            }
        }
    }
    (run(rows, config, &read, &verdicts, repeated), verdicts)
}

fn row(cpu: &RowStats, elapsed: Option<&RowStats>, repeated: bool) -> (Read, Verdict) {
    let (mut direction, mut suspect) = elapsed.map_or((Direction::Unknown, None), |e| (e.direction, e.suspect));
    if !repeated {
        // One round never proves anything by the clock.
        let demoted = match direction {
            Direction::Higher => Some(Side::Higher),
            Direction::Lower => Some(Side::Lower),
            Direction::Flat | Direction::Unknown => None,
        };
        if demoted.is_some() {
            (direction, suspect) = (Direction::Unknown, demoted);
        }
    }
    let up = cpu.increase();
    let slower = elapsed.filter(|_| repeated).and_then(RowStats::increase);
    let lower = cpu.direction == Direction::Lower;
    let verdict = match (up, slower) {
        (Some(Increase::Beyond | Increase::Open), _) => {
            if direction == Direction::Lower {
                Verdict::Tradeoff
            } else if suspect == Some(Side::Lower) {
                Verdict::Inconclusive
            } else if up == Some(Increase::Beyond) || slower == Some(Increase::Beyond) {
                Verdict::Regression
            } else {
                Verdict::Inconclusive
            }
        }
        _ if !cpu.fits() => Verdict::Inconclusive,
        (_, Some(Increase::Beyond)) => {
            if lower {
                Verdict::Tradeoff
            } else {
                Verdict::Regression
            }
        }
        (_, Some(Increase::Open)) => Verdict::Inconclusive,
        _ if suspect == Some(Side::Higher) => Verdict::Inconclusive,
        (Some(Increase::Within), _) if direction == Direction::Lower => Verdict::Tradeoff,
        _ if suspect == Some(Side::Lower) && !lower && !repeated => Verdict::Inconclusive,
        _ => Verdict::Pass,
    };
    (Read { cpu: up, elapsed: slower, suspect }, verdict)
}

fn run(rows: &Rows<'_>, config: &Config, read: &[Read], verdicts: &[Verdict], repeated: bool) -> Reason {
    let with = |verdict: Verdict| move |i: &usize| verdicts[*i] == verdict;
    let indices = || 0..verdicts.len();
    let last = rows.cpu.len().wrapping_sub(1);
    if verdicts.contains(&Verdict::Regression) {
        let stages = &rows.cpu[..rows.cpu.len() - usize::from(rows.total)];
        if rows.total
            && verdicts[last] != Verdict::Regression
            && rows.cpu[last].fits()
            && stages.iter().any(|c| c.direction == Direction::Lower)
        {
            return Reason::StageTradeoff;
        }
        let by_cpu = indices().filter(with(Verdict::Regression)).any(|i| rows.cpu[i].beyond);
        return if by_cpu { Reason::CpuHigher } else { Reason::WallHigherRepeated };
    }
    if rows.overhead_dominated {
        return Reason::OverheadDominated;
    }
    if verdicts.contains(&Verdict::Inconclusive) {
        let open: Vec<usize> = indices().filter(with(Verdict::Inconclusive)).collect();
        let any = |f: &dyn Fn(usize) -> bool| open.iter().any(|i| f(*i));
        return if any(&|i| {
            matches!(read[i].cpu, Some(Increase::Beyond | Increase::Open)) && read[i].suspect == Some(Side::Lower)
        }) {
            Reason::TradeoffOrRegression
        } else if any(&|i| read[i].cpu == Some(Increase::Open) || read[i].elapsed == Some(Increase::Open)) {
            Reason::SmallIncrease
        } else if open.iter().all(|i| rows.cpu[*i].fits()) {
            Reason::WallOnlyUnrepeated
        } else if any(&|i| rows.cpu[i].suspect == Some(Side::Higher)) {
            Reason::SuspectedRegression
        } else if any(&|i| rows.cpu[i].margin_in_noise) {
            Reason::MarginInNoiseBand
        } else {
            Reason::Undecided
        };
    }
    if let Some(limit) = config.mem_limit {
        let risky = |peak: Option<f64>| peak.is_some_and(|p| p > config.mem_atrisk * limit);
        if risky(rows.peaks[1]) && !risky(rows.peaks[0]) {
            return Reason::MemAtRisk;
        }
    }
    if verdicts.contains(&Verdict::Tradeoff) {
        return Reason::CpuVsElapsed;
    }
    let elapsed = || rows.elapsed.iter().flatten().chain(rows.elapsed_alone);
    if rows.cpu.iter().any(|c| c.small == Some(Side::Higher)) {
        Reason::WithinMargin
    } else if rows.cpu.iter().any(|c| c.direction == Direction::Lower) {
        Reason::CpuLower
    } else if repeated && elapsed().any(|e| e.direction == Direction::Lower) {
        Reason::WallLowerRepeated
    } else if elapsed().any(|e| e.small == Some(Side::Higher)) {
        Reason::WithinMargin
    } else {
        Reason::NoChange
    }
}

/// The note that a passing row with a confirmed increase carries.
pub(crate) const WITHIN_NOTE: Note = Note::SmallHigher;
