//! Whether two arms ran the same workload.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stats::{Arm, Reason};

use crate::arms::Declared;
use crate::setting::Setting;
use crate::workload::{Field, Known, Workload};

/// A field and its values in both arms; `None` is unset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The field.
    pub field: String,
    /// Its value in the control.
    pub control: Option<Setting>,
    /// Its value in the treatment.
    pub treatment: Option<Setting>,
}

impl Difference {
    /// As `stats` echoes it.
    #[must_use]
    pub fn to_stats(&self) -> Value {
        json!({"field": self.field, "control": self.control, "treatment": self.treatment})
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Setting>| value.as_ref().map_or_else(|| "unset".to_owned(), Setting::to_string);
        write!(f, "{}: {} in control, {} in treatment", self.field, shown(&self.control), shown(&self.treatment))
    }
}

/// What comparing two workloads came to, declared differences aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "fields")]
pub enum Sameness {
    /// Every field is known and equal.
    Equal,
    /// Known fields differ. This decides, even if others are unknown.
    Differs(Vec<Difference>),
    /// No known field differs, but these could not be read in one arm or in both.
    Unknown(Vec<String>),
}

/// A context field that differs, and its values; `None` where it is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextDifference {
    /// The field.
    pub field: String,
    /// Its value in the control.
    pub control: Option<String>,
    /// Its value in the treatment.
    pub treatment: Option<String>,
}

/// What follows from the commit and is recorded beside the workload: digest of the lockfile, versions of packages, image,
/// Python. Listed when different, never a mismatch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Context(pub BTreeMap<String, Option<String>>);

impl Context {
    /// The fields in which two contexts differ, in the order of their names.
    #[must_use]
    pub fn differences(&self, treatment: &Self) -> Vec<ContextDifference> {
        let of = |context: &Self, field: &str| context.0.get(field).cloned().flatten();
        let fields: BTreeSet<&String> = self.0.keys().chain(treatment.0.keys()).collect();
        fields
            .into_iter()
            .map(|field| ContextDifference {
                field: field.clone(),
                control: of(self, field),
                treatment: of(treatment, field),
            })
            .filter(|difference| difference.control != difference.treatment)
            .collect()
    }
}

/// A control's workload held against a treatment's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Equal, different or unknown, declared differences aside.
    pub sameness: Sameness,
    /// The declared differences in the order of their declaration, for the reader. A declared field that could not be read
    /// has the value that the treatment declares.
    pub declared: Vec<Difference>,
    /// Whether a declared difference changed pool, parallelism or concurrency.
    pub topology: bool,
}

impl Comparison {
    /// Writes what was found into `arm`: the mismatch, the declared differences, the topology; and a field that could not
    /// be read as `FINGERPRINT_UNKNOWN`, unless the arm is blocked by something else already.
    pub fn apply(&self, arm: &mut Arm) {
        match &self.sameness {
            Sameness::Equal => {}
            Sameness::Differs(differences) => {
                arm.fingerprint_mismatch = Some(differences.iter().map(Difference::to_stats).collect());
            }
            Sameness::Unknown(_) => arm.blocked = arm.blocked.or(Some(Reason::FingerprintUnknown)),
        }
        arm.declared = self.declared.iter().map(|d| (d.field.clone(), json!(d.treatment))).collect();
        arm.topology |= self.topology;
    }
}

/// Compares the workload of a treatment with that of the control. Fields that the treatment declares are taken out of
/// both and returned beside the result. Differences are in the order of the field names.
#[must_use]
pub fn compare(control: &Workload, treatment: &Workload, declared: &Declared) -> Comparison {
    let entries: Vec<(String, &str)> = declared.entries().collect();
    let names: BTreeSet<&str> = control.names().chain(treatment.names()).collect();
    let mut differences = Vec::new();
    let mut unknown = Vec::new();
    for name in names {
        if entries.iter().any(|(key, _)| key == name) {
            continue;
        }
        match (control.get(name), treatment.get(name)) {
            (Known::Unknown, _) | (_, Known::Unknown) => unknown.push(name.to_owned()),
            (one, other) if one == other => {}
            (one, other) => {
                differences.push(Difference { field: name.to_owned(), control: value(one), treatment: value(other) });
            }
        }
    }
    let sameness = if !differences.is_empty() {
        Sameness::Differs(differences)
    } else if !unknown.is_empty() {
        Sameness::Unknown(unknown)
    } else {
        Sameness::Equal
    };
    let declared: Vec<Difference> = entries
        .into_iter()
        .map(|(field, said)| Difference {
            control: value(control.get(&field)),
            treatment: value(treatment.get(&field)).or_else(|| Some(Setting::text(said))),
            field,
        })
        .collect();
    let topology =
        declared.iter().any(|d| Field::of(&d.field).is_some_and(Field::is_topology) && d.control != d.treatment);
    Comparison { sameness, declared, topology }
}

fn value(known: &Known) -> Option<Setting> {
    if let Known::Set(setting) = known { Some(setting.clone()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(workers: u32) -> Workload {
        let mut workload = Workload::new(&"zephyr".parse().unwrap());
        for field in &Field::ALL[1..] {
            workload.set(*field, Known::Unset);
        }
        workload.set(Field::PoolWorkers, Known::Set(Setting::whole(workers)));
        workload
    }

    fn declares(pairs: &[(&str, &str)]) -> Declared {
        let mut declared = Declared::default();
        for (key, value) in pairs {
            declared.parameter(key, value).unwrap();
        }
        declared
    }

    #[test]
    fn an_undeclared_difference_names_both_values() {
        let comparison = compare(&workload(5), &workload(80), &Declared::default());
        let Sameness::Differs(differences) = &comparison.sameness else { panic!("{comparison:?}") };
        let shown: Vec<String> = differences.iter().map(Difference::to_string).collect();
        assert_eq!(shown, ["pool_workers: 5 in control, 80 in treatment"]);
        let mut arm = Arm::default();
        comparison.apply(&mut arm);
        assert_eq!(
            arm.fingerprint_mismatch,
            Some(vec![json!({"field": "pool_workers", "control": 5, "treatment": 80})])
        );
        assert!(!arm.topology && arm.declared.is_empty() && arm.blocked.is_none());
    }

    #[test]
    fn a_declared_difference_is_taken_out_and_printed() {
        let comparison = compare(&workload(5), &workload(80), &declares(&[("pool_workers", "80")]));
        assert_eq!(comparison.sameness, Sameness::Equal);
        assert!(comparison.topology);
        let mut arm = Arm::default();
        comparison.apply(&mut arm);
        assert_eq!((arm.fingerprint_mismatch, arm.topology), (None, true));
        assert_eq!(arm.declared, [("pool_workers".to_owned(), json!(80))]);
    }

    #[test]
    fn a_declaration_excuses_its_own_field_only() {
        let mut treatment = workload(80);
        treatment.set(Field::CcIterations, Known::Set(Setting::whole(3)));
        let comparison = compare(&workload(5), &treatment, &declares(&[("pool_workers", "80")]));
        let Sameness::Differs(differences) = comparison.sameness else { panic!("equal") };
        assert_eq!(differences[0].to_string(), "cc_iterations: unset in control, 3 in treatment");
        assert_eq!(differences.len(), 1);
    }

    #[test]
    fn declared_without_effect_on_the_shape_is_no_topology() {
        assert!(!compare(&workload(5), &workload(5), &declares(&[("pool_workers", "5")])).topology);
        assert!(!compare(&workload(5), &workload(5), &declares(&[("cc_iterations", "3")])).topology);
    }

    #[test]
    fn unknown_is_never_equal() {
        let mut control = workload(5);
        control.set(Field::Priority, Known::Unknown);
        for (one, other) in [(&control, &workload(5)), (&workload(5), &control), (&control, &control)] {
            let comparison = compare(one, other, &Declared::default());
            assert_eq!(comparison.sameness, Sameness::Unknown(vec!["priority".to_owned()]));
            let mut arm = Arm::default();
            comparison.apply(&mut arm);
            assert_eq!(arm.blocked, Some(Reason::FingerprintUnknown));
            let mut arm = Arm { blocked: Some(Reason::HostMix), ..Arm::default() };
            comparison.apply(&mut arm);
            assert_eq!(arm.blocked, Some(Reason::HostMix));
        }
        let comparison = compare(&control, &workload(80), &Declared::default());
        assert!(matches!(comparison.sameness, Sameness::Differs(_)));
    }

    #[test]
    fn environment_is_declared_by_its_full_name() {
        let mut treatment = workload(5);
        treatment.set_named("env.MALLOC", Known::Set(Setting::text("jemalloc"))).unwrap();
        assert!(matches!(compare(&workload(5), &treatment, &Declared::default()).sameness, Sameness::Differs(_)));
        let mut declared = Declared::default();
        declared.variable("MALLOC", "jemalloc").unwrap();
        let comparison = compare(&workload(5), &treatment, &declared);
        assert_eq!(comparison.sameness, Sameness::Equal);
        assert_eq!(comparison.declared[0].to_string(), "env.MALLOC: unset in control, jemalloc in treatment");
    }

    #[test]
    fn context_is_listed_and_never_a_mismatch() {
        let context = |pairs: &[(&str, Option<&str>)]| {
            Context(pairs.iter().map(|(k, v)| ((*k).to_owned(), v.map(str::to_owned))).collect())
        };
        let control = context(&[("image", Some("a")), ("python", Some("3.12")), ("lockfile", None)]);
        let treatment = context(&[("image", Some("b")), ("python", Some("3.12")), ("zephyr", Some("0.2"))]);
        let fields: Vec<String> = control.differences(&treatment).into_iter().map(|d| d.field).collect();
        assert_eq!(fields, ["image", "zephyr"]);
    }
}
