//! `zephyr-ab judge`: a case in, a verdict out.

mod texts;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use domain::view::View;
use report::Renderer;
use stats::{Outcome, UsageError};

use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Judges rounds of measurements that were already taken.
///
/// The input is one JSON object: rounds of stage sums, a calibration and a configuration. The README describes it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab judge --input case.json --format text
  zephyr-ab judge --input - --format markdown < case.json
  zephyr-ab judge --input case.json --treatment batched")]
pub struct Args {
    /// File with the case; - is standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// What to print: everything as JSON, the comment as Markdown, or the same as plain text.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Print every row as plain text, not only those that matter most.
    #[arg(long)]
    all_rows: bool,
    /// Print this treatment only.
    #[arg(long, value_name = "NAME")]
    treatment: Option<String>,
    /// Largest input that is read, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 256_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    max_input: u64,
}

/// What `judge` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Verdict, rows, statistics, notes and table.
    Json,
    /// The comment.
    Markdown,
    /// The same for a terminal.
    Text,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] where the input is not a case.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let name = args.input.display().to_string();
    let usage = |error: UsageError| Failure::Usage(format!("{name}: {error}"));
    let text = read(&args.input, world.stdin, args.max_input).map_err(usage)?;
    let case = stats::input::parse(&text).map_err(usage)?;
    let outcome = stats::judge(&case);
    let wanted = args.treatment.as_deref();
    let printed = match args.format {
        Format::Json => {
            let selected = wanted.map(|name| select(&outcome, name)).transpose()?;
            serde_json::to_string_pretty(selected.as_ref().unwrap_or(&outcome)).map_err(anyhow::Error::from)? + "\n"
        }
        Format::Markdown | Format::Text => {
            if let Some(name) = wanted {
                select(&outcome, name)?;
            }
            let mut view = View::of_case(&case, &outcome, texts::texts(&text));
            if let Some(name) = wanted {
                view.treatments.retain(|treatment| treatment.name == name);
                view.headline = None;
            }
            let renderer = Renderer::new().map_err(anyhow::Error::from)?;
            if args.format == Format::Markdown {
                renderer.comment(&view).map_err(anyhow::Error::from)?.body
            } else {
                let text = if args.all_rows { renderer.text_of_all_rows(&view) } else { renderer.text(&view) };
                text.map_err(anyhow::Error::from)?
            }
        }
    };
    world.stdout.write_all(printed.as_bytes())?;
    Ok(Exit::Done)
}

/// Reads the whole input, up to `limit` bytes.
fn read(path: &Path, stdin: &mut dyn Read, limit: u64) -> Result<String, UsageError> {
    let unreadable = |e: std::io::Error| UsageError::new("file", format!("a file that can be read ({e})"));
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        stdin.take(limit + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).map_err(unreadable)?.take(limit + 1).read_to_end(&mut bytes)
    };
    read.map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(UsageError::new("file", format!("at most {limit} bytes (--max-input allows more)")));
    }
    String::from_utf8(bytes)
        .map_err(|e| UsageError::new(&format!("byte {}", e.utf8_error().valid_up_to()), "text in UTF-8"))
}

/// The answer for one treatment.
fn select(outcome: &Outcome, name: &str) -> Result<Outcome, Failure> {
    let treatments = outcome.treatments();
    treatments.iter().find(|(known, _)| *known == name).map(|(_, j)| Outcome::Sole((*j).clone())).ok_or_else(|| {
        let known: Vec<&str> = treatments.iter().map(|(name, _)| *name).collect();
        Failure::Usage(format!("--treatment {name:?}: expected {}", stats::input::choices(&known, name)))
    })
}
