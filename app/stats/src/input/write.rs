//! A case as JSON of the input contract, with twelve significant digits: what [`parse`](super::parse) reads back.

use std::collections::BTreeMap;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use crate::case::{
    Arm, Calibration, Case, Confirmation, Control, Event, Events, Reading, Residual, Round, Stage, Trial,
};
use crate::config::{Config, Metric, PerMetric};
use crate::digits::twelve;
use crate::output::Ordered;

/// A case, serialised as an object of the input contract. Every setting is written out, rows keep their order, numbers
/// have twelve significant digits and whole ones no fraction. A bad reading is written as `"bad"`, a missing one not
/// at all. Where the case does not name its treatment, the name is not written either.
///
/// What the contract cannot say is refused by the reader, not here: counts above 1e9, settings beyond their ranges.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a>(pub &'a Case);

/// The case as JSON.
///
/// # Errors
/// Never where names differ: texts and numbers are always valid JSON. A case without a treatment has no form.
pub fn to_json(case: &Case) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Written(case))
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Case { config, calibration, control, arms, several } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("config", &Settings(config))?;
        map.serialize_entry("calibration", &Noise(calibration))?;
        if !control.is_empty() {
            map.serialize_entry("control", &control.iter().map(OneTrial).collect::<Vec<_>>())?;
        }
        if *several {
            let named = arms.iter().map(|(name, arm)| (name.clone(), OneArm { arm, paired: config.paired })).collect();
            map.serialize_entry("treatments", &Ordered(named))?;
        } else {
            let (_, arm) = arms.first().ok_or_else(|| S::Error::custom("a case needs a treatment"))?;
            OneArm { arm, paired: config.paired }.entries(&mut map)?;
        }
        map.end()
    }
}

/// A number with twelve significant digits, without a fraction where it is whole; what is not finite is null.
struct Digits(f64);

impl Serialize for Digits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
        let x = twelve(self.0);
        if !x.is_finite() {
            return serializer.serialize_none();
        }
        #[allow(clippy::cast_possible_truncation)] // whole and within 2^53
        if x.fract() == 0.0 && x.abs() <= EXACT {
            serializer.serialize_i64(x as i64)
        } else {
            serializer.serialize_f64(x)
        }
    }
}

struct Pair<'a>(&'a PerMetric<f64>);

impl Serialize for Pair<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Metric::ALL.map(|metric| (metric.key(), Digits(self.0[metric]))))
    }
}

/// A map per metric; `T` is made of what stands in it.
struct Maps<'a, V, T>(&'a PerMetric<BTreeMap<String, V>>, fn(&'a V) -> T);

impl<V, T: Serialize> Serialize for Maps<'_, V, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Metric::ALL.map(|metric| {
            let rows = self.0[metric].iter().map(|(row, value)| (row, self.1(value)));
            (metric.key(), rows.collect::<BTreeMap<_, _>>())
        }))
    }
}

struct Settings<'a>(&'a Config);

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Config {
            alpha_reg,
            alpha_eq,
            alpha_suspect,
            episode,
            episode_share,
            looks,
            look_index,
            margin,
            margin_total,
            impact_ref,
            impact_cap,
            eps,
            gross1,
            gross_mult,
            loo,
            persist_mult,
            sd_floor,
            d0_cap,
            min_df,
            max_df,
            n1_min_calib,
            wall_min_rounds,
            min_rounds_b,
            min_rounds_c,
            paired,
            work,
            work_tol,
            work_max,
            work_uncounted_max,
            normalize,
            paths_only,
            pool_cores,
            plausible_tol,
            min_share,
            min_value,
            overhead_max,
            overhead_frac,
            mem_limit,
            mem_atrisk,
            confirm_count,
            confirm_clean,
            display_sd,
            display_df,
        } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("alpha_reg", &Pair(alpha_reg))?;
        map.serialize_entry("alpha_eq", &Digits(*alpha_eq))?;
        map.serialize_entry("alpha_suspect", &Digits(*alpha_suspect))?;
        map.serialize_entry("episode", episode)?;
        map.serialize_entry("episode_share", &Digits(*episode_share))?;
        map.serialize_entry("looks", looks)?;
        map.serialize_entry("look_index", look_index)?;
        for (key, pair) in [("margin", margin), ("margin_total", margin_total), ("eps", eps), ("gross1", gross1)] {
            map.serialize_entry(key, &Pair(pair))?;
        }
        map.serialize_entry(
            "min_rounds",
            &BTreeMap::from([("B", Digits(*min_rounds_b)), ("C", Digits(*min_rounds_c))]),
        )?;
        for (key, number) in [
            ("impact_ref", impact_ref),
            ("impact_cap", impact_cap),
            ("gross_mult", gross_mult),
            ("loo", loo),
            ("persist_mult", persist_mult),
            ("d0_cap", d0_cap),
            ("min_df", min_df),
            ("max_df", max_df),
            ("n1_min_calib", n1_min_calib),
            ("wall_min_rounds", wall_min_rounds),
            ("work_tol", work_tol),
            ("work_max", work_max),
            ("work_uncounted_max", work_uncounted_max),
            ("plausible_tol", plausible_tol),
            ("min_share", min_share),
            ("overhead_max", overhead_max),
            ("mem_atrisk", mem_atrisk),
            ("confirm_count", confirm_count),
            ("confirm_clean", confirm_clean),
            ("display_df", display_df),
        ] {
            map.serialize_entry(key, &Digits(*number))?;
        }
        for (key, pair) in [("sd_floor", sd_floor), ("min_value", min_value), ("display_sd", display_sd)] {
            map.serialize_entry(key, &Pair(pair))?;
        }
        for (key, number) in [("pool_cores", pool_cores), ("mem_limit", mem_limit)] {
            map.serialize_entry(key, &number.map(Digits))?;
        }
        map.serialize_entry("paired", paired)?;
        map.serialize_entry("work", work)?;
        map.serialize_entry("normalize", normalize)?;
        map.serialize_entry("paths_only", paths_only)?;
        map.serialize_entry("overhead_frac", &Maps(overhead_frac, |share| Digits(*share)))?;
        map.end()
    }
}

struct Noise<'a>(&'a Calibration);

impl Serialize for Noise<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Calibration { grade, ratios, residual } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("grade", grade)?;
        for metric in Metric::ALL {
            let rows =
                ratios[metric].iter().map(|(row, all)| (row, all.iter().map(|x| Digits(*x)).collect::<Vec<_>>()));
            map.serialize_entry(metric.key(), &rows.collect::<BTreeMap<_, _>>())?;
        }
        let parts = |Residual { ss, df }: &Residual| BTreeMap::from([("ss", Digits(*ss)), ("df", Digits(*df))]);
        map.serialize_entry("residual", &Maps(residual, parts))?;
        map.end()
    }
}

struct OneArm<'a> {
    arm: &'a Arm,
    paired: bool,
}

impl OneArm<'_> {
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Arm {
            rounds,
            trials,
            fingerprint_mismatch,
            declared,
            topology,
            confirmed,
            confirmations,
            blocked,
            decided,
        } = self.arm;
        if self.paired {
            map.serialize_entry("rounds", &rounds.iter().map(OneRound).collect::<Vec<_>>())?;
        } else {
            map.serialize_entry("trials", &trials.iter().map(OneTrial).collect::<Vec<_>>())?;
        }
        match fingerprint_mismatch.as_deref() {
            None => {}
            Some([]) => map.serialize_entry("fingerprint_mismatch", &true)?,
            Some(differences) => map.serialize_entry("fingerprint_mismatch", differences)?,
        }
        if !declared.is_empty() {
            map.serialize_entry("declared", &Ordered(declared.clone()))?;
        }
        for (key, flag) in [("topology", topology), ("confirmed", confirmed)] {
            if *flag {
                map.serialize_entry(key, &true)?;
            }
        }
        if !confirmations.is_empty() {
            map.serialize_entry("confirmations", &confirmations.iter().map(Outside).collect::<Vec<_>>())?;
        }
        if let Some(reason) = blocked {
            map.serialize_entry("blocked", reason)?;
        }
        if let Some((verdict, reason)) = decided {
            map.serialize_entry("decided", &BTreeMap::from([("reason", reason.code()), ("verdict", verdict.word())]))?;
        }
        Ok(())
    }
}

impl Serialize for OneArm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

struct OneRound<'a>(&'a Round);

impl Serialize for OneRound<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        match &self.0.control {
            Control::Own(trial) => map.serialize_entry("control", &OneTrial(trial))?,
            Control::Shared(index) => map.serialize_entry("control", index)?,
        }
        map.serialize_entry("treatment", &OneTrial(&self.0.treatment))?;
        map.end()
    }
}

struct Outside<'a>(&'a Confirmation);

impl Serialize for Outside<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, trial) in [("control", &self.0.control), ("treatment", &self.0.treatment)] {
            if let Some(trial) = trial {
                map.serialize_entry(key, &OneTrial(trial))?;
            }
        }
        map.end()
    }
}

struct OneTrial<'a>(&'a Trial);

impl Serialize for OneTrial<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Trial { stages, executions, events } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("stages", &Rows(stages))?;
        if let Some(executions) = executions {
            map.serialize_entry("executions", executions)?;
        }
        if *events != Events::default() {
            let happened = Event::ALL.into_iter().map(|event| (event.key(), events.count(event)));
            map.serialize_entry("events", &happened.filter(|(_, n)| *n > 0).collect::<BTreeMap<_, _>>())?;
        }
        map.end()
    }
}

struct Rows<'a>(&'a [(String, Stage)]);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, stage)| (name, OneStage(stage))))
    }
}

struct OneStage<'a>(&'a Stage);

impl Serialize for OneStage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Stage {
            cpu_time_total,
            elapsed,
            items,
            bytes_processed,
            mem_peak_bytes_max,
            total_shards,
            row_executions,
            not_ended,
        } = self.0;
        let mut map = serializer.serialize_map(None)?;
        for (key, reading) in [
            ("cpu_time_total", cpu_time_total),
            ("elapsed", elapsed),
            ("items", items),
            ("bytes_processed", bytes_processed),
            ("mem_peak_bytes_max", mem_peak_bytes_max),
            ("total_shards", total_shards),
            ("row_executions", row_executions),
        ] {
            match reading {
                Reading::Missing => {}
                Reading::Bad => map.serialize_entry(key, "bad")?,
                Reading::Value(x) => map.serialize_entry(key, &Digits(*x))?,
            }
        }
        if let Some(status) = not_ended {
            map.serialize_entry("status", status)?;
        }
        map.end()
    }
}
