//! What is known of the noise before a run starts, and what a person should know of the plan.

use std::path::Path;

use domain::calibration::{self, CalibrationFile};
use domain::ids::Digest;
use domain::ports::Clock as _;
use domain::time::HOUR;
use domain::view::Calibrated;
use lab::local::host_class;
use serde_json::Value;
use stats::Grade;
use suite::{Backend, Resolved, Suite};

use super::launches::steps;
use crate::cli::World;
use crate::failure::Failure;

/// Rows that a comparison on a cluster has at least: how many there are is known when the first trial was measured.
const LEAST_ROWS: usize = 3;

/// What is known of the noise.
pub(in crate::command) struct Noise {
    /// The object `calibration` of the input contract.
    pub(in crate::command) contract: Value,
    /// What the comment says of it.
    pub(in crate::command) calibrated: Calibrated,
    /// The file as it was read.
    pub(in crate::command) file: Option<Vec<u8>>,
    /// Why it says nothing here.
    pub(in crate::command) unfit: Option<String>,
    /// How many rows will be judged.
    pub(in crate::command) rows: usize,
    /// The kind of machine on a cluster that it is of; whether the trials run on such ones is seen afterwards.
    pub(in crate::command) host: Option<String>,
}

impl Noise {
    pub(in crate::command) fn of(
        suite: &Suite,
        resolved: &Resolved,
        fingerprint: &Digest,
        path: Option<&Path>,
        world: &World<'_>,
    ) -> Result<Self, Failure> {
        let here: Vec<String> = match &suite.backend {
            Backend::Local(_) => steps(suite, &resolved.control)?.steps.into_iter().map(|step| step.name).collect(),
            Backend::Iris(_) => Vec::new(),
        };
        let local = matches!(suite.backend, Backend::Local(_));
        let Some(path) = path else {
            let (contract, calibrated) = calibration::none();
            let rows = if local { here.len() } else { LEAST_ROWS };
            return Ok(Self { contract, calibrated, file: None, unfit: None, rows, host: None });
        };
        let place = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
        let bytes = std::fs::read(path).map_err(|e| place(&e))?;
        let file = CalibrationFile::parse(&bytes).map_err(|e| place(&e))?;
        file.check(&suite.name, fingerprint).map_err(|e| place(&e))?;
        let now = world.machine.clock.now();
        if file.trials.last().is_some_and(|last| last.at > now.plus(HOUR)) {
            return Err(place(&"its newest trial lies in the future"));
        }
        if !local {
            // The same workload has the same rows.
            let rows: Vec<&str> =
                file.trials.first().map(|trial| trial.rows.keys().map(String::as_str).collect()).unwrap_or_default();
            // Of several kinds of machines, or of an unknown one, it says nothing of any. Whether the trials run on the
            // kind that it is of is seen afterwards.
            let (mut contract, mut calibrated) =
                file.apply(&rows, Some(file.host_class.as_deref().unwrap_or_default()), now);
            let unfit = file
                .host_class
                .is_none()
                .then(|| "the calibration is of no one kind of machine and says nothing".to_owned());
            // Samples are listed as they are never changed; another one is worth less.
            if resolved.other_sample && matches!(calibrated.grade, Grade::A | Grade::A5) {
                calibrated.grade = Grade::B;
                contract["grade"] = serde_json::json!(Grade::B);
            }
            let (host, rows) = (file.host_class.clone(), rows.len().max(LEAST_ROWS));
            return Ok(Self { contract, calibrated, file: Some(bytes), unfit, rows, host });
        }
        let rows: Vec<&str> = here.iter().map(String::as_str).collect();
        let kind = host_class();
        let (contract, calibrated) = file.apply(&rows, kind.as_deref(), now);
        let unfit = (file.host_class != kind).then(|| {
            let named = |class: &Option<String>| class.clone().unwrap_or_else(|| "an unknown machine".to_owned());
            format!("the calibration is of {} and says nothing about {}", named(&file.host_class), named(&kind))
        });
        Ok(Self { contract, calibrated, file: Some(bytes), unfit, rows: rows.len(), host: None })
    }
}

/// What a person should know before it starts: rounds that cannot decide anything.
pub(super) fn hints(looks: &[u64], grade: Grade) -> Vec<String> {
    let config = stats::Config::default();
    let least = match grade {
        Grade::A | Grade::A5 => 1.0,
        Grade::B => config.min_rounds_b,
        Grade::C => config.min_rounds_c,
    };
    let last = looks.last().copied().unwrap_or(0) as f64;
    if last >= least {
        return Vec::new();
    }
    let grade = grade.word();
    vec![format!(
        "{last} rounds decide nothing at calibration grade {grade}: it takes {least} at least, or zephyr-ab calibrate"
    )]
}
