//! What must be equal between arms, and its fingerprint.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::ids::{Digest, SuiteName};
use crate::setting::Setting;

macro_rules! fields {
    ($($(#[$doc:meta])* $field:ident $name:literal;)*) => {
        /// A field that every workload has. Its name is the key of the parameter in suites and commands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Field {
            $($(#[$doc])* $field,)*
        }

        impl Field {
            /// Every field.
            pub const ALL: &'static [Self] = &[$(Self::$field),*];

            /// The name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }
        }
    };
}

fields! {
    /// The suite.
    Suite "suite";
    /// Prefix of the sample.
    Sample "sample";
    /// The sources of the sample; not needed where a fraction of them is asked for.
    Sources "sources";
    /// The fraction of the sources.
    SourceFraction "source_fraction";
    /// The canonical span of steps, whatever an arm's command line calls it: a range or a target.
    Stages "stages";
    /// Workers of the pool.
    PoolWorkers "pool_workers";
    /// Cores of a worker.
    PoolCpu "pool_cpu";
    /// Memory of a worker.
    PoolRam "pool_ram";
    /// Disk of a worker.
    PoolDisk "pool_disk";
    /// Cores of a map task.
    MapTaskCpu "map_task_cpu";
    /// Memory of a map task.
    MapTaskRam "map_task_ram";
    /// Cores of a reduce task.
    ReduceTaskCpu "reduce_task_cpu";
    /// Memory of a reduce task.
    ReduceTaskRam "reduce_task_ram";
    /// Pipelines at once.
    MaxConcurrent "max_concurrent";
    /// Shards of a shuffle.
    Parallelism "parallelism";
    /// Iterations of the connected components.
    CcIterations "cc_iterations";
    /// Cores of the launcher.
    LauncherCpu "launcher_cpu";
    /// Memory of the launcher.
    LauncherRam "launcher_ram";
    /// Disk of the launcher.
    LauncherDisk "launcher_disk";
    /// The controller that ran the jobs.
    Controller "controller";
    /// The region or the cluster that compute ran in.
    Locality "locality";
    /// The effective priority, not the requested one.
    Priority "priority";
    /// Whether the jobs could be preempted.
    Preemptible "preemptible";
}

impl Field {
    /// The field of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|field| field.name() == name)
    }

    /// Whether another value makes another shape of pool, parallelism or concurrency. Such a comparison is one of
    /// latency against compute and says nothing about efficiency.
    #[must_use]
    pub fn is_topology(self) -> bool {
        matches!(
            self,
            Self::PoolWorkers
                | Self::PoolCpu
                | Self::PoolRam
                | Self::PoolDisk
                | Self::MaxConcurrent
                | Self::Parallelism
        )
    }
}

/// What is known of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its value.
    Set(Setting),
    /// It has none: the benchmark's own default applies, or the field means nothing here.
    Unset,
    /// It could not be read.
    Unknown,
}

/// What is wrong with a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A name that no field can have.
    #[error("{0:?} is not the name of a field; allowed: 1 to 80 characters A-Z, a-z, 0-9, . _ -, the first a letter")]
    Name(String),
    /// A name that stands in two of `set`, `unset` and `unknown`.
    #[error("the field {0} is given twice")]
    Twice(String),
    /// Fields that could not be read.
    #[error("a fingerprint needs every field; unknown: {}", .0.join(", "))]
    Unknown(Vec<String>),
}

/// The workload of one arm: every [`Field`], and further parameters of the suite by name. Commit, arm and run tag are no
/// part of it. A [`Field`] that was never set is unknown; a further parameter that was never set is unset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Workload {
    fields: BTreeMap<String, Known>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    set: BTreeMap<String, Setting>,
    #[serde(default)]
    unset: Vec<String>,
    #[serde(default)]
    unknown: Vec<String>,
}

impl Workload {
    /// The workload of a suite, of which nothing else is known yet.
    #[must_use]
    pub fn new(suite: &SuiteName) -> Self {
        let mut workload = Self { fields: BTreeMap::new() };
        workload.set(Field::Suite, Known::Set(Setting::text(suite.as_str())));
        workload
    }

    /// Sets a field.
    pub fn set(&mut self, field: Field, known: Known) {
        self.fields.insert(field.name().to_owned(), known);
    }

    /// Sets a field or a further parameter by its name. An environment variable is `env.NAME`.
    ///
    /// # Errors
    /// A name other than `[A-Za-z][A-Za-z0-9._-]{0,79}`.
    pub fn set_named(&mut self, name: &str, known: Known) -> Result<(), WorkloadError> {
        let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.len() > 80 || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(ok) {
            return Err(WorkloadError::Name(name.chars().take(80).collect()));
        }
        self.fields.insert(name.to_owned(), known);
        Ok(())
    }

    /// What is known of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> &Known {
        let never = if Field::of(name).is_some() { &Known::Unknown } else { &Known::Unset };
        self.fields.get(name).unwrap_or(never)
    }

    /// What two workloads agree in: everything else is unknown.
    #[must_use]
    pub fn agreed(&self, other: &Self) -> Self {
        let names = self.names().chain(other.names());
        let fields = names.map(|name| {
            let known = if self.get(name) == other.get(name) { self.get(name).clone() } else { Known::Unknown };
            (name.to_owned(), known)
        });
        Self { fields: fields.collect() }
    }

    /// The names of all fields: the standard ones, and every further parameter that was set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let further = self.fields.keys().map(String::as_str).filter(|name| Field::of(name).is_none());
        Field::ALL.iter().map(|field| field.name()).chain(further)
    }

    /// The fields that could not be read, in the order of their names, without those in `except`.
    #[must_use]
    pub fn unknown(&self, except: &[&str]) -> Vec<String> {
        let unknown = |name: &&str| *self.get(name) == Known::Unknown && !except.contains(name);
        let mut names: Vec<String> = self.names().filter(unknown).map(str::to_owned).collect();
        names.sort();
        names
    }

    /// The canonical form of all fields but those in `except`:
    /// ```text
    /// zab-workload-1
    /// <length of name>:<name>=<tag><length of payload>:<payload>
    /// ```
    /// one line for each set field, in the byte order of the names, each ended by a line feed; lengths in bytes; tag `s`
    /// with a text, `n` with a number (the shortest decimal that reads back as the same double, without exponent; sizes
    /// as whole bytes), `b` with `true` or `false`, `l` with the items of a list, each as its length, a colon and its
    /// text. A field that is unset has no line. Lengths make the form unambiguous whatever the texts hold.
    ///
    /// # Errors
    /// [`WorkloadError::Unknown`].
    pub fn canonical(&self, except: &[&str]) -> Result<String, WorkloadError> {
        let unknown = self.unknown(except);
        if !unknown.is_empty() {
            return Err(WorkloadError::Unknown(unknown));
        }
        let mut text = "zab-workload-1\n".to_owned();
        for (name, known) in &self.fields {
            if let Known::Set(setting) = known
                && !except.contains(&name.as_str())
            {
                let (tag, payload) = setting.canonical();
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{}:{name}={tag}{}:{payload}", name.len(), payload.len());
            }
        }
        Ok(text)
    }

    /// The fingerprint: SHA-256 of the [canonical form](Self::canonical) without the fields in `except`, which are the
    /// declared differences of the arms.
    ///
    /// # Errors
    /// [`WorkloadError::Unknown`]: what is not known equals nothing.
    pub fn fingerprint(&self, except: &[&str]) -> Result<Digest, WorkloadError> {
        Ok(Digest::of(self.canonical(except)?.as_bytes()))
    }
}

impl TryFrom<Written> for Workload {
    type Error = WorkloadError;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let mut workload = Self { fields: BTreeMap::new() };
        let set = written.set.into_iter().map(|(name, setting)| (name, Known::Set(setting)));
        let unset = written.unset.into_iter().map(|name| (name, Known::Unset));
        let unknown = written.unknown.into_iter().map(|name| (name, Known::Unknown));
        for (name, known) in set.chain(unset).chain(unknown) {
            if workload.fields.contains_key(&name) {
                return Err(WorkloadError::Twice(name));
            }
            workload.set_named(&name, known)?;
        }
        Ok(workload)
    }
}

impl From<Workload> for Written {
    fn from(workload: Workload) -> Self {
        let mut written = Self::default();
        for (name, known) in workload.fields {
            match known {
                Known::Set(setting) => {
                    written.set.insert(name, setting);
                }
                Known::Unset => written.unset.push(name),
                Known::Unknown => written.unknown.push(name),
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload() -> Workload {
        let mut workload = Workload::new(&"zephyr".parse().unwrap());
        for field in &Field::ALL[1..] {
            workload.set(*field, Known::Unset);
        }
        workload.set(Field::Sample, Known::Set(Setting::text("gs://b/s")));
        workload.set(Field::PoolRam, Known::Set(Setting::size("16GiB".parse().unwrap())));
        workload.set_named("env.X", Known::Set(Setting::List(vec!["a".into(), "bc".into()]))).unwrap();
        workload
    }

    #[test]
    fn canonical_form_and_its_digest() {
        let text = "zab-workload-1\n5:env.X=l7:1:a2:bc\n8:pool_ram=n11:17179869184\n6:sample=s8:gs://b/s\n\
                    5:suite=s6:zephyr\n";
        assert_eq!(workload().canonical(&[]).unwrap(), text);
        assert_eq!(
            workload().fingerprint(&[]).unwrap().as_str(),
            "760ece5dd986a4205a6cd0a0e2ecaf2f1aa2aee302fb98aa1d05e69f11e84c6c"
        );
        assert_eq!(
            workload().canonical(&["env.X", "sample"]).unwrap(),
            "zab-workload-1\n8:pool_ram=n11:17179869184\n5:suite=s6:zephyr\n"
        );
    }

    #[test]
    fn a_field_that_was_never_set_is_unknown() {
        let workload = Workload::new(&"zephyr".parse().unwrap());
        let Err(WorkloadError::Unknown(names)) = workload.fingerprint(&[]) else { panic!("known") };
        assert_eq!(names.len(), Field::ALL.len() - 1);
        assert_eq!(*workload.get("sample"), Known::Unknown);
        assert_eq!(*workload.get("env.X"), Known::Unset);
    }

    #[test]
    fn json_tells_unset_from_unknown() {
        let mut workload = workload();
        workload.set(Field::Priority, Known::Unknown);
        let text = serde_json::to_string(&workload).unwrap();
        assert!(text.contains(r#""unknown":["priority"]"#), "{text}");
        assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), workload);
        for bad in [
            r#"{"set":{"sample":1},"unset":["sample"]}"#,
            r#"{"set":{"a b":1}}"#,
            r#"{"set":{"sample":null}}"#,
            r#"{"set":{},"other":1}"#,
        ] {
            assert!(serde_json::from_str::<Workload>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_fields_are_distinct() {
        assert!(Field::ALL.iter().all(|field| Field::of(field.name()) == Some(*field)));
    }
}
