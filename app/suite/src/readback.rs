//! From the command line of a job that ran to the values that it ran with: the way back of [`crate::template`].

use std::collections::BTreeMap;

use domain::workload::Known;

use crate::generation::Generation;
use crate::parameter::Parameter;
use crate::template::{Format, Group, Maps, Piece};

/// What a command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack {
    /// Every parameter of the suite. One that the generation may leave out and that the command line does not give is
    /// unset, as it is where the suite itself leaves it out. One that it always gives is unknown then: the default of
    /// the commit applied, and commits have different ones. So is one whose value the suite cannot read.
    pub values: BTreeMap<String, Known>,
    /// The tag of the trial.
    pub run_tag: Option<String>,
}

/// One place of a command line that holds a value.
struct Place<'g> {
    flag: String,
    piece: &'g Piece,
    optional: bool,
}

impl Generation {
    /// Reads a command line back; `None` where it is not one of this generation: another program, a flag that the
    /// generation does not have, or one that is there twice. Flags may stand in any order and as `--flag=value`.
    #[must_use]
    pub fn read_back(&self, parameters: &[Parameter], argv: &[String]) -> Option<ReadBack> {
        let (program, groups) = self.argv.split_first()?;
        let program: Vec<&str> = program.words.iter().map(|word| word.literal()).collect::<Option<_>>()?;
        let rest = argv.get(program.len()..).filter(|_| argv.iter().zip(&program).all(|(one, other)| one == other))?;
        let places: Vec<Place<'_>> = groups.iter().map(place).collect::<Option<_>>()?;
        let mut given: BTreeMap<&str, String> = BTreeMap::new();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, value.to_owned()),
                None => (word.as_str(), words.next()?.clone()),
            };
            let known = places.iter().find(|place| place.flag == flag)?;
            if given.insert(&known.flag, value).is_some() {
                return None;
            }
        }
        let mut read = ReadBack { values: BTreeMap::new(), run_tag: None };
        let mut spans: BTreeMap<&str, (Option<&str>, Option<&str>)> = BTreeMap::new();
        for place in &places {
            let value = given.get(place.flag.as_str()).map(String::as_str);
            match place.piece {
                Piece::RunTag => read.run_tag = value.map(str::to_owned),
                Piece::Parameter(name, Format::First) => spans.entry(name).or_default().0 = value,
                Piece::Parameter(name, Format::Last) => spans.entry(name).or_default().1 = value,
                Piece::Parameter(name, format) => {
                    let parameter = parameters.iter().find(|p| p.name == *name)?;
                    let absent = if place.optional { Known::Unset } else { Known::Unknown };
                    let known = value.map_or(absent, |value| known(parameter, value, *format, &self.map));
                    read.values.insert(name.clone(), known);
                }
                Piece::Literal(_) => return None,
            }
        }
        for (name, ends) in spans {
            let parameter = parameters.iter().find(|p| p.name == name)?;
            let known = match ends {
                (Some(first), Some(last)) => known(parameter, &format!("{first}..{last}"), Format::Plain, &self.map),
                // The benchmark's own, which nobody told.
                _ => Known::Unknown,
            };
            read.values.insert(name.to_owned(), known);
        }
        for parameter in parameters {
            read.values.entry(parameter.name.clone()).or_insert(Known::Unset);
        }
        Some(read)
    }
}

/// A group of the form `--flag {value}`.
fn place(group: &Group) -> Option<Place<'_>> {
    let [flag, value] = &group.words[..] else { return None };
    let [piece] = value.pieces() else { return None };
    Some(Place {
        flag: flag.literal().filter(|flag| flag.starts_with('-'))?.to_owned(),
        piece,
        optional: group.optional,
    })
}

fn known(parameter: &Parameter, value: &str, format: Format, maps: &Maps) -> Known {
    let text = match format {
        Format::Short => long(value),
        Format::Map => {
            let words = maps.get(&parameter.name).into_iter().flatten();
            let mut canonical = words.filter(|(_, word)| *word == value).map(|(canonical, _)| canonical.clone());
            canonical.next()
        }
        _ => Some(value.to_owned()),
    };
    let read = text.and_then(|text| parameter.of_text(&text).ok());
    read.map_or(Known::Unknown, |value| Known::Set(value.setting()))
}

/// `16g` as `16GiB`; what has another form is left as it is.
fn long(short: &str) -> Option<String> {
    let unit = short.chars().last()?.to_ascii_lowercase();
    let digits = &short[..short.len() - unit.len_utf8()];
    let fine = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    Some(match unit {
        'k' if fine => format!("{digits}KiB"),
        'm' if fine => format!("{digits}MiB"),
        'g' if fine => format!("{digits}GiB"),
        't' if fine => format!("{digits}TiB"),
        _ => short.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Backend, Suite};

    fn suite() -> Suite {
        crate::load(&crate::SuiteRef::Name("rig".to_owned()), None).unwrap()
    }

    fn read(generation: usize, words: &str) -> Option<ReadBack> {
        let suite = suite();
        let Backend::Iris(cluster) = &suite.backend else { panic!("rig runs on a cluster") };
        let argv: Vec<String> =
            format!("python -m experiments.datakit.zephyr_benchmark {words}").split(' ').map(str::to_owned).collect();
        cluster.generations[generation].read_back(&suite.parameters, argv.trim())
    }

    trait Trim {
        fn trim(&self) -> &[String];
    }

    impl Trim for Vec<String> {
        /// Without the empty word that no words at all leave.
        fn trim(&self) -> &[String] {
            if self.last().is_some_and(String::is_empty) { &self[..self.len() - 1] } else { self }
        }
    }

    #[test]
    fn the_way_there_and_back() {
        let suite = suite();
        let Backend::Iris(cluster) = &suite.backend else { panic!("rig runs on a cluster") };
        let resolved = crate::resolve(&suite, &domain::request::Options::default()).unwrap();
        for generation in &cluster.generations {
            let argv = generation.argv(&resolved.control.values, "abcdefgh1234").unwrap();
            let back = generation.read_back(&suite.parameters, &argv).unwrap();
            assert_eq!(back.run_tag.as_deref(), Some("abcdefgh1234"));
            for parameter in &suite.parameters {
                let known = resolved.control.workload.get(&parameter.name);
                assert_eq!(back.values.get(&parameter.name), Some(known), "{} {}", generation.id, parameter.name);
            }
        }
    }

    #[test]
    fn both_generations_say_the_same_of_the_same_work() {
        let range = read(1, "--first-stage exact --last-stage fuzzy --pool-ram=16g --run-tag a").unwrap();
        let target = read(0, "--pool-ram 16g --target all --run-tag b").unwrap();
        assert_eq!(range.values, target.values);
        assert_eq!(range.values["sample"], Known::Unknown);
        assert!(matches!(&range.values["stages"], Known::Set(setting) if setting.to_string() == "exact..fuzzy"));
    }

    #[test]
    fn what_is_not_known_is_never_made_up() {
        let unknown = |words: &str, name: &str| read(1, words).unwrap().values[name].clone();
        assert_eq!(unknown("--first-stage exact", "stages"), Known::Unknown);
        assert_eq!(unknown("--pool-workers many", "pool_workers"), Known::Unknown);
        assert_eq!(unknown("--pool-workers 9999", "pool_workers"), Known::Unknown);
        for words in ["--levitate 1", "--pool-workers 1 --pool-workers 1", "--pool-workers", "positional"] {
            assert_eq!(read(1, words), None, "{words}");
        }
        assert!(read(1, "").is_some());
        assert_eq!(read(0, "--target everything").unwrap().values["stages"], Known::Unknown);
    }
}
