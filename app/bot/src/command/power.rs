//! `zephyr-ab power`: what a comparison can detect and how many rounds it takes, before anything is measured.

use std::str::FromStr;

use clap::ValueEnum;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use stats::power::{DEFAULT_DF, Detectable, MOST_ROUNDS, Needed, POWER, Power};

use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Tells what a comparison can detect, and how many rounds it takes.
///
/// For a given noise of one run: the noise band, the increase that is confirmed with probability 0.9, the increase that
/// is called a regression with probability 0.9, and the rounds needed to confirm an effect, to call it a regression, and
/// to prove that nothing of its size happened.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab power --cv 1% --stages 20
  zephyr-ab power --cv 0.02 --stages 12 --effect 7% --margin 5% --rounds 2,4,8
  zephyr-ab power --cv 2% --stages 20 --format json")]
pub struct Args {
    /// Standard deviation of one run's CPU time, as a share of it: 0.02 or 2%.
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    cv: Share,
    /// Rows that are judged.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    stages: u16,
    /// Increase to ask for [default: 3 %, 5 %, 10 % and 20 %].
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    effect: Option<Share>,
    /// What a row tolerates.
    #[arg(long, value_name = "M", default_value = "5%", allow_hyphen_values = true)]
    margin: Share,
    /// Numbers of rounds.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [1, 2, 3, 5, 10], value_parser = clap::value_parser!(u64).range(1..=10_000))]
    rounds: Vec<u64>,
    /// Degrees of freedom of the variance.
    #[arg(long, value_name = "D", default_value_t = DEFAULT_DF, allow_hyphen_values = true)]
    df: f64,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What `power` and `simulate` print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    Text,
    /// An object.
    Json,
}

/// A share, written as 0.02 or as 2%.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
        let value = number.trim().parse::<f64>().ok().map(|v| v / scale).filter(|v| v.is_finite());
        value.map(Self).ok_or_else(|| "expected a share such as 0.02 or 2%".to_owned())
    }
}

/// Refuses what lies outside a range; both ends are allowed.
pub(super) fn within(option: &str, value: f64, low: f64, high: f64) -> Result<(), Failure> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(Failure::Usage(format!("--{option}: expected {low} to {high}, got {value}")))
}

/// Rounds needed for one effect.
#[derive(Serialize)]
struct Row {
    effect: f64,
    confirm: Needed,
    regression: Needed,
    prove: Option<u64>,
}

#[derive(Serialize)]
struct Answer {
    cv: f64,
    stages: u16,
    margin: f64,
    df: f64,
    power: f64,
    detectable: Vec<Detectable>,
    needed: Vec<Row>,
}

/// Runs the command.
///
/// # Errors
/// A value out of its range, or an output that cannot be written.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    within("cv", args.cv.0, 1e-5, 1.0)?;
    within("margin", args.margin.0, 1e-4, 10.0)?;
    within("df", args.df, 1.0, 1000.0)?;
    if let Some(effect) = args.effect {
        within("effect", effect.0, 1e-4, 10.0)?;
    }
    let power = Power { margin: args.margin.0, df: args.df, ..Power::new(args.cv.0, usize::from(args.stages)) };
    let effects = args.effect.map_or(vec![0.03, 0.05, 0.10, 0.20], |effect| vec![effect.0]);
    let row = |effect: f64| Row {
        effect,
        confirm: power.rounds_to_confirm(effect),
        regression: power.rounds_to_call(effect),
        prove: power.rounds_to_prove(effect),
    };
    let answer = Answer {
        cv: args.cv.0,
        stages: args.stages,
        margin: args.margin.0,
        df: args.df,
        power: POWER,
        detectable: args.rounds.iter().map(|n| power.detectable(*n)).collect(),
        needed: effects.into_iter().map(row).collect(),
    };
    match args.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&answer).map_err(anyhow::Error::from)?;
            writeln!(world.stdout, "{text}")?;
        }
        Format::Text => write!(world.stdout, "{}", text(&answer))?,
    }
    Ok(Exit::Done)
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value >= 100.0 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

/// A share as a percentage without needless digits.
fn short(share: f64) -> String {
    let digits = format!("{:.4}", 100.0 * share);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A table of numbers: the first column is named, the others are right-aligned.
pub(super) fn table(header: Vec<String>, rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header).add_rows(rows);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

fn needed(needed: Needed) -> String {
    match needed {
        Needed { by_test: Some(1), rounds: Some(2) } => "2*".to_owned(),
        Needed { rounds, .. } => count(rounds),
    }
}

fn count(rounds: Option<u64>) -> String {
    rounds.map_or("-".to_owned(), |n| n.to_string())
}

fn text(answer: &Answer) -> String {
    let margin = short(answer.margin);
    let detectable = table(
        ["rounds", "noise band", "confirmed from", "called a regression from"].map(str::to_owned).to_vec(),
        answer
            .detectable
            .iter()
            .map(|d| {
                vec![d.rounds.to_string(), format!("±{}", percent(d.band)), percent(d.mde90), percent(d.regression90)]
            })
            .collect(),
    );
    let rounds = table(
        ["change", "to confirm it", "to call it a regression", "to prove less"].map(str::to_owned).to_vec(),
        answer
            .needed
            .iter()
            .map(|r| vec![format!("+{}", short(r.effect)), needed(r.confirm), needed(r.regression), count(r.prove)])
            .collect(),
    );
    let starred = |n: &Needed| n.by_test == Some(1) && n.rounds == Some(2);
    let star = if answer.needed.iter().any(|r| starred(&r.confirm) || starred(&r.regression)) {
        "\n* The test alone would do with one round; one round calls gross changes only.\n"
    } else {
        ""
    };
    let missing = |r: &Row| r.confirm.rounds.is_none() || r.regression.rounds.is_none() || r.prove.is_none();
    let dash = if answer.needed.iter().any(missing) {
        format!("\n- means more than {MOST_ROUNDS} rounds, or never: what is tolerated is no regression.\n")
    } else {
        String::new()
    };
    format!(
        "CPU time that varies by {} a run, {} rows, each tolerating {margin}; with probability {}:\n\n{detectable}\n\n\
         Rounds needed:\n\n{rounds}\n{star}{dash}",
        short(answer.cv),
        answer.stages,
        answer.power,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn power(line: &str) -> Result<String, Failure> {
        use clap::Parser;
        let line = Line::try_parse_from(["power"].into_iter().chain(line.split(' ')))
            .map_err(|e| Failure::Usage(e.to_string()))?;
        let (result, printed) = crate::world::tests::with_world(|world| run(&line.args, world));
        result.map(|_| printed)
    }

    #[test]
    fn table_of_one_percent() {
        insta::assert_snapshot!(power("--cv 1% --stages 20").unwrap());
    }

    #[test]
    fn one_effect() {
        insta::assert_snapshot!(power("--cv 0.02 --stages 12 --effect 4% --rounds 2,4,8").unwrap());
    }

    #[test]
    fn json() {
        insta::assert_snapshot!(power("--cv 0.01 --stages 20 --effect 0.07 --rounds 3 --format json").unwrap());
    }

    #[test]
    fn shares_and_percentages_are_the_same() {
        assert_eq!(power("--cv 2% --stages 20").unwrap(), power("--cv 0.02 --stages 20").unwrap());
    }

    #[test]
    fn errors_name_the_option_and_the_range() {
        for (line, expected) in [
            ("--cv 0 --stages 20", "--cv: expected 0.00001 to 1, got 0"),
            ("--cv NaN --stages 20", "expected a share such as 0.02 or 2%"),
            ("--cv 1% --stages 0", "1..=1000"),
            ("--cv 1% --stages 20 --effect -3%", "--effect"),
            ("--cv 1% --stages 20 --effect 0", "--effect: expected 0.0001 to 10, got 0"),
            ("--cv 1% --stages 20 --df 0", "--df: expected 1 to 1000, got 0"),
            ("--cv 1% --stages 20 --rounds 0", "1..=10000"),
        ] {
            let failure = power(line).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains(expected), "{line}: {failure}");
        }
    }
}
