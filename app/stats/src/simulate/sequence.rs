//! One simulated comparison through its looks.

use super::draw::{Draw, Truth};
use super::family::Family;
use super::settings::{Margins, Method, Metrics, OutOfRange, Schedule, Settings};
use super::tally::{Report, Summary, Tally};
use super::textbook::Textbook;
use super::whole::Whole;
use super::workers::Workers;
use crate::config::Config;
use crate::output::Ordered;
use crate::reason::{Reason, Verdict};

/// When is judged, and with which budgets.
pub(super) struct Look {
    pub(super) rounds: usize,
    pub(super) config: Config,
}

/// The reason with which a treatment ended at an earlier look.
pub(super) type Ended = Option<Reason>;

/// What one look found of one treatment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finding {
    pub(super) reason: Reason,
    /// Any judged row has a confirmed increase.
    pub(super) confirmed: bool,
    /// An affected row has one.
    pub(super) power: bool,
}

impl Finding {
    pub(super) fn nothing(reason: Reason) -> Self {
        Self { reason, confirmed: false, power: false }
    }
}

/// Simulates, and summarises by number of rounds; looks are summarised under the key `sequential`. The result depends
/// on the settings alone, not on the number of threads.
///
/// # Errors
/// A setting out of its range.
pub fn simulate(settings: &Settings, workers: &Workers<'_>) -> Result<Report, OutOfRange> {
    settings.check()?;
    let truth = Truth::of(settings);
    let base = base_config(settings);
    let experiments: Vec<(String, Vec<Look>)> = match &settings.schedule {
        Schedule::Rounds(rounds) => rounds.iter().map(|n| (n.to_string(), vec![look(*n, base.clone())])).collect(),
        Schedule::Looks { looks, extensions } => vec![("sequential".to_owned(), all_looks(&base, looks, *extensions))],
    };
    let stops = !matches!(settings.schedule, Schedule::Looks { extensions: 1.., .. });
    let summaries = experiments.into_iter().map(|(key, looks)| {
        let tally = workers.tally(settings.trials, || {
            let mut comparison = Comparison::new(settings, &truth, &looks, stops);
            move |index, tally: &mut Tally| comparison.run(index, tally)
        });
        (key, Summary::of(&tally, settings.without_effect()))
    });
    Ok(Report { rounds: Ordered(summaries.collect()) })
}

fn base_config(settings: &Settings) -> Config {
    let mut config = Config { paired: settings.unpaired.is_none(), ..Config::default() };
    if settings.margins == Margins::Flat {
        config.impact_cap = 0.0;
    }
    config
}

fn look(rounds: u64, config: Config) -> Look {
    // The settings allow at most 2,000 rounds in all.
    Look { rounds: usize::try_from(rounds).unwrap_or(usize::MAX), config }
}

/// The declared looks, then one episode of one round for each extension.
fn all_looks(base: &Config, looks: &[u64], extensions: u64) -> Vec<Look> {
    let last = looks.last().copied().unwrap_or(0);
    let declared = (0..)
        .zip(looks)
        .map(|(index, n)| look(*n, Config { looks: Some(looks.to_vec()), look_index: Some(index), ..base.clone() }));
    let extended = (1..=extensions).map(|j| look(last + j, Config { episode: j + 1, ..base.clone() }));
    declared.chain(extended).collect()
}

enum Judge<'a> {
    Family(Family<'a>),
    Whole(Box<Whole<'a>>),
    Textbook(Textbook<'a>),
}

/// One thread's simulated comparisons.
struct Comparison<'a> {
    settings: &'a Settings,
    truth: &'a Truth,
    looks: &'a [Look],
    /// Whether a decision ends the comparison.
    stops: bool,
    draw: Draw,
    judge: Judge<'a>,
}

impl<'a> Comparison<'a> {
    fn new(settings: &'a Settings, truth: &'a Truth, looks: &'a [Look], stops: bool) -> Self {
        let judge = match (settings.method, settings.metrics) {
            (Method::Abv1, Metrics::Cpu) => Judge::Family(Family::new(settings, truth)),
            (Method::Abv1, Metrics::Both { .. }) => Judge::Whole(Box::new(Whole::new(settings, truth))),
            _ => Judge::Textbook(Textbook::new(settings, truth)),
        };
        Self { settings, truth, looks, stops, draw: Draw::new(settings), judge }
    }

    fn run(&mut self, index: u64, tally: &mut Tally) {
        let most = self.looks.last().map_or(0, |look| look.rounds);
        self.draw.refill(self.settings, self.truth, index, most);
        match &mut self.judge {
            Judge::Family(family) => family.begin(&self.draw),
            Judge::Whole(whole) => whole.begin(&self.draw),
            Judge::Textbook(_) => {}
        }
        let arms = self.settings.treatments;
        let mut ended: Vec<Ended> = vec![None; arms];
        let mut decided = vec![false; arms];
        let (mut ever, mut confirmed, mut power, mut rounds) = ([false; 4], false, false, 0);
        for look in self.looks {
            rounds = look.rounds;
            let found = match &mut self.judge {
                Judge::Family(family) => family.judge(&self.draw, look, &ended),
                Judge::Whole(whole) => whole.judge(&self.draw, look, &ended),
                Judge::Textbook(textbook) => textbook.judge(&self.draw, look, index),
            };
            for (arm, finding) in found.into_iter().enumerate() {
                let Some(finding) = finding else { continue };
                confirmed |= finding.confirmed;
                power |= finding.power;
                let verdict = finding.reason.verdict();
                if verdict != Verdict::Inconclusive {
                    ever[verdict as usize] = true;
                    decided[arm] = true;
                    if self.stops {
                        ended[arm] = Some(finding.reason);
                    }
                }
            }
            if ended.iter().all(Option::is_some) {
                break;
            }
        }
        ever[Verdict::Inconclusive as usize] = decided.contains(&false);
        tally.count(ever, confirmed, power, rounds);
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{Affected, Noise, Sizes};
    use super::*;

    fn run(settings: &Settings, threads: usize) -> Report {
        simulate(settings, &Workers::silent(threads)).unwrap()
    }

    fn only(report: &Report) -> Summary {
        assert_eq!(report.rounds.0.len(), 1);
        report.rounds.0[0].1
    }

    #[test]
    fn threads_and_other_rounds_change_nothing() {
        let settings = Settings { noise: Noise::T3, trials: 300, stages: 8, ..Settings::default() };
        assert_eq!(run(&settings, 1), run(&settings, 5));
        let list = Settings { schedule: Schedule::Rounds(vec![1, 3]), ..settings.clone() };
        assert_eq!(run(&list, 2).rounds.get("3"), run(&settings, 1).rounds.get("3"));
        let other = Settings { seed: 2, ..settings.clone() };
        assert_ne!(run(&other, 1), run(&settings, 1));
    }

    #[test]
    fn a_large_effect_is_a_regression_and_a_large_saving_a_pass() {
        for (effect, regression, pass) in [(0.5, 200, 0), (-0.3, 0, 200)] {
            let summary = only(&run(&Settings { effect, trials: 200, ..Settings::default() }, 2));
            assert_eq!((summary.regression, summary.pass), (regression, pass));
            assert_eq!((summary.power, summary.false_regression), (regression, None));
        }
    }

    #[test]
    fn whole_cases_see_elapsed_time_and_tradeoffs() {
        let settings = Settings {
            stages: 12,
            metrics: Metrics::Both { elapsed_cv: 0.05 },
            sizes: Sizes::Zipf,
            margins: Margins::Impact,
            affected: Affected::All,
            trials: 100,
            ..Settings::default()
        };
        let slower = only(&run(&Settings { elapsed_effect: 0.6, ..settings.clone() }, 2));
        assert!(slower.regression >= 98, "{slower:?}");
        let exchange = only(&run(&Settings { effect: 0.15, elapsed_effect: -0.5, ..settings.clone() }, 2));
        assert!(exchange.tradeoff >= 98, "{exchange:?}");
        let same = only(&run(&settings, 2));
        assert!(same.false_regression == Some(0) && same.pass >= 85, "{same:?}");
    }

    #[test]
    fn one_round_never_decides_without_ten_calibration_ratios() {
        let settings = Settings {
            calibration: 9,
            effect: 0.5,
            schedule: Schedule::Rounds(vec![1]),
            trials: 100,
            ..Settings::default()
        };
        assert_eq!(only(&run(&settings, 1)).regression, 0);
        assert_eq!(only(&run(&Settings { calibration: 10, ..settings.clone() }, 1)).regression, 100);
        let blind = only(&run(&Settings { calibration: 0, ..settings }, 1));
        assert_eq!((blind.inconclusive, blind.confirmed), (100, 0));
    }

    #[test]
    fn looks_stop_and_extensions_do_not() {
        let looks = |extensions| Schedule::Looks { looks: vec![1, 2, 3], extensions };
        let settings = Settings { schedule: looks(0), trials: 200, ..Settings::default() };
        let stopped = only(&run(&settings, 2));
        assert_eq!(run(&settings, 1).rounds.0[0].0, "sequential");
        assert!(stopped.mean_rounds() < 3.0);
        assert_eq!(stopped.pass + stopped.inconclusive + stopped.regression + stopped.tradeoff, 200);
        let extended = only(&run(&Settings { schedule: looks(4), ..settings }, 2));
        assert_eq!(extended.mean_rounds(), 7.0);
        assert!(extended.pass >= stopped.pass);
    }

    #[test]
    fn several_treatments_count_when_any_of_them_does() {
        let settings = Settings { treatments: 3, effect: 0.3, trials: 100, ..Settings::default() };
        let summary = only(&run(&settings, 2));
        assert_eq!((summary.regression, summary.power), (100, 100));
        assert!(summary.pass >= 95, "the others did not change: {summary:?}");
        let looks = Settings { schedule: Schedule::Looks { looks: vec![1, 2, 3], extensions: 0 }, ..settings.clone() };
        assert_eq!(only(&run(&looks, 2)).regression, 100);
        let whole = Settings { metrics: Metrics::Both { elapsed_cv: 0.05 }, ..looks };
        assert_eq!(only(&run(&whole, 2)).regression, 100);
    }

    #[test]
    fn unpaired_comparisons_need_three_trials() {
        let settings = Settings { unpaired: Some(10), effect: 0.5, trials: 50, ..Settings::default() };
        let two = Settings { schedule: Schedule::Rounds(vec![2]), ..settings.clone() };
        assert_eq!(only(&run(&two, 1)).inconclusive, 50);
        assert_eq!(only(&run(&settings, 1)).regression, 50);
        let whole = Settings { metrics: Metrics::Both { elapsed_cv: 0.05 }, ..settings };
        assert_eq!(only(&run(&whole, 1)).regression, 50);
    }

    #[test]
    fn other_methods_have_their_own_rates() {
        let rate = |method, rounds| {
            let settings = Settings {
                method,
                schedule: Schedule::Rounds(vec![rounds]),
                cv: 0.02,
                trials: 400,
                ..Settings::default()
            };
            only(&run(&settings, 2)).share("false_regression").unwrap()
        };
        // Twenty tests at 2.5 % a side; a threshold at 5 % with two rounds; Mann-Whitney cannot reach 5 % with three.
        assert!((0.2..0.4).contains(&rate(Method::Welch, 3)));
        assert!((0.08..0.22).contains(&rate(Method::Threshold, 2)));
        assert_eq!(rate(Method::MannWhitney, 3), 0.0);
        assert!(rate(Method::Bootstrap, 3) > 0.8);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let error = simulate(&Settings { trials: 0, ..Settings::default() }, &Workers::silent(1)).unwrap_err();
        assert_eq!(error.setting, "trials");
    }
}
