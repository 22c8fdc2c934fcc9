//! `zephyr-ab evidence`: the folder of a run, verified, shown, compared.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Subcommand, ValueEnum};
use evidence::bundle::COMMENT;
use evidence::compose::Composed;
use evidence::verify::Compared;
use evidence::{Bundle, DiskStorage, EvidenceError, Storage as _, Templates, Verified, verify};

use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Verifies, shows or compares the folders that runs leave.
///
/// A folder holds everything that its verdict was made of: plan, answers, looks. It may be moved, copied and kept
/// read-only.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab evidence verify runs/20261129T202850Z-8d10c1b5
  zephyr-ab evidence show --format markdown runs/20261129T202850Z-8d10c1b5
  zephyr-ab evidence explain runs/20261129T202850Z-8d10c1b5 TOTAL
  zephyr-ab evidence diff runs/20261129T202850Z-8d10c1b5 runs/20261130T081510Z-02c4aa71

Exit codes: 0 fine, 1 a folder does not verify or two folders differ, 2 not an evidence folder.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compares every file with its digest, judges the answers again, and makes the comment again.
    Verify {
        /// Folders of finished runs.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Folder with the templates that the comment was made with, where they are not the built-in ones.
        #[arg(long, value_name = "DIR")]
        templates: Option<PathBuf>,
    },
    /// Prints the comment and what is in the folder.
    Show {
        /// Folder of a finished run.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// How the comment is printed.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Print every row as plain text, not only those that matter most.
        #[arg(long)]
        all_rows: bool,
    },
    /// Says how the number of a row came to be: every round, what they come to, and what that was held against.
    Explain {
        /// Folder of a finished run.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The name of a row; a part of it will do where that means one row only.
        #[arg(value_name = "ROW")]
        row: String,
    },
    /// Names every fact in which two folders differ: plan, workload, trials, rows, verdict. Ids and times are left out.
    Diff {
        /// Folder of a finished run.
        #[arg(value_name = "A")]
        one: PathBuf,
        /// Another one.
        #[arg(value_name = "B")]
        other: PathBuf,
    },
}

/// How a comment is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// As it was written.
    Markdown,
    /// For a terminal.
    Text,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] for what is no folder of a finished run.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let built_in = || Templates::built_in().map_err(anyhow::Error::from);
    match &args.command {
        Command::Verify { folders, templates } => {
            let templates = match templates {
                Some(folder) => Templates::from_folder(folder).map_err(|e| Failure::Usage(e.to_string()))?,
                None => built_in()?,
            };
            let mut exit = Exit::Done;
            for folder in folders {
                let verified = verified(folder, &templates)?;
                if !verified.is_fine() {
                    exit = Exit::Failed;
                }
                write!(world.stdout, "{}", report(folder, &verified))?;
            }
            Ok(exit)
        }
        Command::Show { folder, format, all_rows } => show(folder, (*format, *all_rows), &built_in()?, world.stdout),
        Command::Explain { folder, row } => explain(folder, row, &built_in()?, world.stdout),
        Command::Diff { one, other } => diff(one, other, &built_in()?, world.stdout),
    }
}

fn verified(folder: &Path, templates: &Templates) -> Result<Verified, Failure> {
    verify(&DiskStorage::new(folder), templates).map_err(|error| match error {
        EvidenceError::NotEvidence(why) => Failure::Usage(format!("{}: {why}", folder.display())),
        other => Failure::Other(anyhow::Error::from(other).context(folder.display().to_string())),
    })
}

/// What verifying came to, for people.
fn report(folder: &Path, verified: &Verified) -> String {
    let (name, files) = (folder.display(), verified.files.len());
    if !verified.is_fine() {
        let lines = verified.problems.iter().map(|p| format!("  {}: {}\n", plain(&p.file), plain(&p.what)));
        let lines: String = lines.collect();
        return format!("{name}: does not verify\n{lines}");
    }
    let said = verdict(verified);
    match &verified.compared {
        Compared::Numbers { version, templates } => {
            let own = evidence::compose::VERSION;
            let what = match (version.as_str() == own, *templates) {
                (true, _) => "written with other templates".to_owned(),
                (false, true) => {
                    format!("written by version {}, this is {own}, and with other templates", plain(version))
                }
                (false, false) => format!("written by version {}, this is {own}", plain(version)),
            };
            format!(
                "{name}: fine, {said}\n  {files} files as they were; {what}: rows, numbers and verdict are equal, the \
                 text of the comment was not compared\n"
            )
        }
        _ => format!("{name}: fine, {said}\n  {files} files as they were; evidence and comment byte for byte\n"),
    }
}

fn verdict(verified: &Verified) -> String {
    let Some(composed) = &verified.composed else { return "no verdict".to_owned() };
    let digest = evidence::compose::shown(&composed.digest);
    match composed.judged.as_ref().and_then(|judged| judged.headline()) {
        Some(head) => format!("{} ({}), evidence {digest}", head.verdict.word(), head.reason.code()),
        None => format!("ended without a verdict, evidence {digest}"),
    }
}

/// How the number of a row came to be. A folder that does not verify explains nothing.
fn explain(folder: &Path, row: &str, templates: &Templates, out: &mut dyn Write) -> Result<Exit, Failure> {
    let Some((_, composed)) = fine(folder, templates)? else {
        writeln!(out, "{}: does not verify; see zephyr-ab evidence verify", folder.display())?;
        return Ok(Exit::Failed);
    };
    let answer = engine::service::explain::row(&composed.view, row);
    write!(out, "{}", templates.renderer().reply_text(&answer).map_err(anyhow::Error::from)?)?;
    Ok(Exit::Done)
}

fn show(
    folder: &Path,
    (format, all_rows): (Format, bool),
    templates: &Templates,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let verified = verified(folder, templates)?;
    let storage = DiskStorage::new(folder);
    let text = if let (Some(composed), Format::Text) = (&verified.composed, format) {
        let renderer = templates.renderer();
        let text = if all_rows { renderer.text_of_all_rows(&composed.view) } else { renderer.text(&composed.view) };
        text.map_err(anyhow::Error::from)?
    } else {
        let bytes = storage.read(COMMENT).with_context(|| COMMENT.to_owned())?.unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().map(plain).collect::<Vec<_>>().join("\n")
    };
    writeln!(out, "{text}\n\nFiles, bytes:")?;
    for file in &verified.files {
        let bytes = storage.read(file).with_context(|| file.clone())?.map_or(0, |bytes| bytes.len());
        writeln!(out, "{bytes:>12}  {}", plain(file))?;
    }
    write!(out, "\n{}", report(folder, &verified))?;
    Ok(if verified.is_fine() { Exit::Done } else { Exit::Failed })
}

/// A folder that verifies, read; `None` for one that does not.
fn fine(folder: &Path, templates: &Templates) -> Result<Option<(Bundle, Composed)>, Failure> {
    let verified = verified(folder, templates)?;
    let (true, Some(composed)) = (verified.is_fine(), verified.composed) else { return Ok(None) };
    let bundle = Bundle::read(&DiskStorage::new(folder), "").map_err(anyhow::Error::from)?;
    Ok(Some((bundle, composed)))
}

fn diff(one: &Path, other: &Path, templates: &Templates, out: &mut dyn Write) -> Result<Exit, Failure> {
    let read = (fine(one, templates)?, fine(other, templates)?);
    let (Some((a, composed_a)), Some((b, composed_b))) = &read else {
        for (folder, _) in [(one, &read.0), (other, &read.1)].into_iter().filter(|(_, read)| read.is_none()) {
            writeln!(out, "{}: does not verify; see zephyr-ab evidence verify", folder.display())?;
        }
        return Ok(Exit::Failed);
    };
    let differences = evidence::diff::diff((a, composed_a), (b, composed_b));
    let Some(first) = differences.first() else {
        writeln!(out, "no fact differs")?;
        return Ok(Exit::Done);
    };
    let count = if differences.len() == 1 {
        "1 fact differs".to_owned()
    } else {
        format!("{} facts differ", differences.len())
    };
    writeln!(out, "{count}, the first: {} {}", first.part, plain(&first.fact))?;
    let shown = |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), plain);
    let mut part = "";
    for difference in &differences {
        if difference.part != part {
            part = difference.part;
            writeln!(out, "\n{part}")?;
        }
        writeln!(out, "  {}: {} | {}", plain(&difference.fact), shown(&difference.one), shown(&difference.other))?;
    }
    Ok(Exit::Failed)
}

/// One line that nothing in it can break or colour.
fn plain(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}
