//! What a run has used, from what its trials measured and how long they took.

use domain::budget::Used;
use domain::machine::Run;
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::rounds::TrialName;
use domain::time::Ms;
use evidence::spent::TrialCpu;

use super::{Archive, Service};

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// What a run has used that is over.
    pub(super) fn used(&self, run: &Run, now: Ms) -> Used {
        let took: Vec<(TrialName, u64)> = run
            .trials
            .iter()
            .filter_map(|trial| {
                let began = trial.running.or(trial.submitted)?;
                Some((trial.name.clone(), trial.ended.unwrap_or(now).since(began)))
            })
            .collect();
        if took.is_empty() {
            return Used { cpu_ms: Some(0), ..Used::default() };
        }
        match self.engine.records.cpu(&run.id) {
            Ok(cpu) => sum(&took, &cpu),
            Err(why) => {
                tracing::warn!(run = %run.id, why, "what it has used is not known: what it was promised stays");
                Used::default()
            }
        }
    }
}

/// Seconds as whole milliseconds.
fn ms(seconds: f64) -> u64 {
    // Readings are finite and not negative; what is too large becomes the end.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let ms = (seconds * 1000.0).round() as u64;
    ms
}

/// `took` are the trials that ran, each with its milliseconds. One that measured itself to the end used what it says. Of
/// another one nobody knows: it is taken to have used as much in its time as those together did in theirs, and no less than
/// it says. Where none measured itself to the end, nothing is known.
fn sum(took: &[(TrialName, u64)], cpu: &[TrialCpu]) -> Used {
    let mut used = Used::default();
    let mut known = 0;
    let mut rest: Vec<(u64, u64)> = Vec::new();
    for (name, wall) in took {
        let said = cpu.iter().find(|said| said.name == *name);
        let seconds = said.and_then(|said| said.seconds).map(ms);
        match (said, seconds) {
            (Some(said), Some(cpu_ms)) if said.whole => {
                known += cpu_ms;
                used.trials += 1;
                used.trials_cpu_ms += cpu_ms;
                used.trials_wall_ms += wall;
            }
            (_, seconds) => rest.push((*wall, seconds.unwrap_or(0))),
        }
    }
    let alike = |wall: u64| {
        let product = u128::from(wall) * u128::from(used.trials_cpu_ms);
        product.checked_div(u128::from(used.trials_wall_ms)).map(|ms| u64::try_from(ms).unwrap_or(u64::MAX))
    };
    let rest: Option<u64> =
        rest.into_iter().try_fold(0_u64, |sum, (wall, least)| Some(sum.saturating_add(alike(wall)?.max(least))));
    used.cpu_ms = rest.map(|rest| rest.saturating_add(known));
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(place: u32) -> TrialName {
        let run = domain::ids::RunId::new(1_795_984_130, 1).unwrap();
        TrialName { run, round: 1, replacement: 0, place }
    }

    fn said(place: u32, whole: bool, seconds: Option<f64>) -> TrialCpu {
        TrialCpu { name: name(place), whole, seconds }
    }

    #[test]
    fn who_did_not_measure_to_the_end_used_as_much_in_its_time_as_those_who_did() {
        let took = [(name(1), 1000), (name(2), 3000), (name(3), 500), (name(4), 10), (name(5), 0)];
        let cpu = [said(1, true, Some(2.0)), said(2, true, Some(6.0)), said(3, false, None), said(4, false, Some(7.5))];
        let used = sum(&took, &cpu);
        // 2000 + 6000 + 500 x 2 + 7500 + 0
        let wanted = Used { cpu_ms: Some(16_500), trials: 2, trials_cpu_ms: 8000, trials_wall_ms: 4000 };
        assert_eq!(used, wanted);
    }

    #[test]
    fn where_nobody_measured_to_the_end_nothing_is_known() {
        assert_eq!(sum(&[(name(1), 10)], &[said(1, false, Some(1.0))]), Used::default());
        assert_eq!(sum(&[(name(1), 10)], &[]).cpu_ms, None);
        assert_eq!(sum(&[(name(1), 10)], &[said(1, true, None)]).cpu_ms, None);
    }
}
