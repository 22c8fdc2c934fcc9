//! `zephyr-ab suite check`: whether a file is a suite, and what it runs.

use std::path::PathBuf;

use anyhow::Context as _;
use lab::scratch::Scratch;
use suite::generation::{Generation, detect};
use suite::setup::Script;
use suite::{Backend, Resolved, Suite, SuiteRef, resolve};

use crate::cli::World;
use crate::failure::{Exit, Failure};
use crate::world::Machine;

/// Looks at suites.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab suite check my-suite.toml
  zephyr-ab suite check zephyr --at HEAD~3 --repo ../marin")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Check(CheckArgs),
}

/// Reads a suite and prints what it runs: the command line of each step, or of each generation, for every preset.
///
/// Arguments that a shell would take apart stand in quotes. The tag of a trial is shown as x.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab suite check my-suite.toml
  zephyr-ab suite check demo
  zephyr-ab suite check zephyr --at HEAD~3 --repo ../marin")]
struct CheckArgs {
    /// The suite: a path that ends in .toml, or a name.
    #[arg(value_name = "FILE")]
    suite: String,
    /// Folder of suites that go before those that the program brings along.
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// Say which generation of the command line this commit has.
    #[arg(long, value_name = "SHA")]
    at: Option<String>,
    /// The repository of that commit.
    #[arg(long, value_name = "DIR", default_value = ".", requires = "at")]
    repo: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// A file that is no suite: one line with file, line and key.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let Action::Check(args) = &args.action;
    let suite = suite::load(&SuiteRef::from(args.suite.as_str()), args.suites.as_deref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let mut text = heading(&suite);
    if let Some(name) = &args.at {
        text.push_str(&found(&suite, name, args, &world.machine)?);
    }
    let presets: Vec<Option<String>> = match &suite.presets[..] {
        [] => vec![None],
        presets => presets.iter().map(|preset| Some(preset.name.clone())).collect(),
    };
    for preset in presets {
        let options = domain::request::Options { preset, ..domain::request::Options::default() };
        let resolved = resolve(&suite, &options).map_err(|error| Failure::Usage(format!("{}: {error}", args.suite)))?;
        text.push_str(&preset_text(&suite, &resolved));
    }
    write!(world.stdout, "{text}")?;
    Ok(Exit::Done)
}

fn heading(suite: &Suite) -> String {
    let summary = suite.summary.as_ref().map_or(String::new(), |text| format!("{text}\n"));
    let digest = suite.digest.as_str();
    let scripts = match &suite.backend {
        Backend::Iris(cluster) => setup(&cluster.launcher.setup),
        Backend::Local(_) => String::new(),
    };
    format!("{} ({}): {}\n{summary}sha256 {digest}\n{scripts}", suite.name, suite.backend.word(), suite.title)
}

/// The scripts that prepare a job, each with the beginning of its digest.
fn setup(setup: &suite::setup::Setup) -> String {
    let shown = |scripts: &[Script]| scripts.iter().map(Script::shown).collect::<Vec<String>>().join(", ");
    let lists = [("setup scripts", &setup.scripts), ("setup commands", &setup.commands)];
    let lists = lists.iter().filter(|(_, scripts)| !scripts.is_empty());
    lists.fold(String::new(), |text, (name, scripts)| format!("{text}{name}: {}\n", shown(scripts)))
}

/// The values of a preset, and one command line for each step or generation.
fn preset_text(suite: &Suite, resolved: &Resolved) -> String {
    let name = resolved.preset.as_ref().map_or("no presets".to_owned(), |name| {
        let default = suite.preset(name).is_some_and(|preset| preset.default);
        format!("preset {name}{}", if default { " (default)" } else { "" })
    });
    let mut lines = vec![String::new(), name];
    let values: Vec<String> =
        resolved.control.values.iter().map(|(name, value)| pair(name, &value.to_string())).collect();
    if !values.is_empty() {
        lines.push(format!("  {}", values.join(" ")));
    }
    if let Some(place) = &resolved.place {
        lines.push(format!("  runs in {}", place.name()));
    }
    let commands = commands(suite, resolved);
    let width = commands.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    lines.extend(commands.iter().map(|(name, command)| format!("  {name:width$}  {command}")));
    lines.join("\n") + "\n"
}

/// Each step or generation with its command line.
fn commands(suite: &Suite, resolved: &Resolved) -> Vec<(String, String)> {
    let refused = |error: suite::template::ArgvError| format!("refused: {error}");
    match &suite.backend {
        Backend::Local(_) => match suite.commands(&resolved.control) {
            Ok(commands) => commands.into_iter().map(|command| (command.name.clone(), step(&command))).collect(),
            Err(error) => vec![("steps".to_owned(), refused(error))],
        },
        Backend::Iris(cluster) => {
            let tag = "x".repeat(cluster.launcher.run_tag.length as usize);
            let of = |generation: &Generation| {
                generation.argv(&resolved.control.values, &tag).map_or_else(refused, |argv| line(&argv))
            };
            cluster.generations.iter().map(|generation| (generation.id.clone(), of(generation))).collect()
        }
    }
}

fn step(command: &suite::step::Command) -> String {
    let mut words: Vec<String> = command.env.iter().map(|(name, value)| pair(name, value)).collect();
    words.push(line(&command.argv));
    if command.parallel {
        words.push("(together with the step before)".to_owned());
    }
    words.join(" ")
}

fn pair(name: &str, value: &str) -> String {
    format!("{name}={}", quoted(value))
}

fn line(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// An argument as a POSIX shell would have to be told it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Which generation the commit has.
fn found(suite: &Suite, name: &str, args: &CheckArgs, machine: &Machine) -> Result<String, Failure> {
    let Backend::Iris(cluster) = &suite.backend else {
        return Err(Failure::Usage(
            "--at: this suite has no generations of a command line; its steps are the same at every commit".to_owned(),
        ));
    };
    let git = |error: lab::git::GitError| Failure::Usage(format!("--at {name}: {error}"));
    let scratch =
        Scratch::create(&machine.temp).with_context(|| format!("no temporary folder in {}", machine.temp.display()))?;
    let mirror = lab::git::Mirror::open(&scratch.path().join("mirror"), &machine.path).map_err(git)?;
    let source = lab::git::Source::folder(&args.repo).map_err(git)?;
    mirror.fetch(&source).map_err(git)?;
    if let Ok(commit) = name.parse()
        && mirror.resolve(name).is_err()
    {
        // No branch leads to it; the source may still have it.
        mirror.fetch_commit(&source, &commit).map_err(git)?;
    }
    let commit = mirror.resolve(name).map_err(git)?;
    let text_of = |file: &str| {
        let path = lab::git::TreePath::new(file.as_bytes());
        Ok(match mirror.read_file(&commit, &path, LARGEST)? {
            lab::git::tree::FileAt::Content(bytes) => String::from_utf8(bytes).ok(),
            _ => None,
        })
    };
    if let Some(generation) = detect(&cluster.generations, text_of).map_err(git)? {
        return Ok(format!("{commit} has the command line {}\n", generation.id));
    }
    let known: Vec<&str> = cluster.generations.iter().map(|generation| generation.id.as_str()).collect();
    Err(Failure::Usage(format!("{commit}: unknown command line; known are {}", known.join(", "))))
}

/// Largest file that is searched for the marks of a generation.
const LARGEST: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn suite(words: &[&str]) -> Result<String, Failure> {
        use clap::Parser;
        let words = ["suite"].iter().chain(words);
        let line = Line::try_parse_from(words).map_err(|e| Failure::Usage(e.to_string()))?;
        let temp = tempfile::tempdir().unwrap();
        let (result, printed) = crate::world::tests::with_world(|world| {
            world.machine.path = std::env::var_os("PATH").unwrap();
            world.machine.temp = temp.path().to_owned();
            run(&line.args, world)
        });
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0, "something was left behind");
        result.map(|_| printed)
    }

    fn fixture(name: &str) -> String {
        format!("{}/../suite/tests/suites/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn a_suite_for_this_machine() {
        insta::assert_snapshot!(suite(&["check", &fixture("local.toml")]).unwrap());
    }

    #[test]
    fn a_suite_for_a_cluster() {
        insta::assert_snapshot!(suite(&["check", "zephyr"]).unwrap());
        insta::assert_snapshot!("the_suite_rig", suite(&["check", "rig"]).unwrap());
    }

    #[test]
    fn a_file_that_is_no_suite() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        std::fs::write(&path, "schema = 1\nbackend = \"local\"\nnmae = 1\n").unwrap();
        let failure = suite(&["check", path.to_str().unwrap()]).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.to_string().contains("s.toml:3: nmae: unknown key"), "{failure}");
        assert!(failure.to_string().ends_with("nearest: name"), "{failure}");
        assert!(suite(&["check", "dmeo"]).unwrap_err().to_string().contains("nearest: demo"));
    }

    fn git(dir: &Path, args: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"])
            .args(args)
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn the_generation_of_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("experiments/datakit/zephyr_benchmark.py");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        git(folder.path(), &["init", "--quiet"]);
        for text in ["nothing", "\"--first-stage\" \"--last-stage\"", "\"--target\" \"--dedup-cc-max-iterations\""] {
            std::fs::write(&file, text).unwrap();
            git(folder.path(), &["add", "."]);
            git(folder.path(), &["commit", "--quiet", "-m", "x"]);
        }
        let repo = folder.path().to_str().unwrap();
        let at = |name: &str| suite(&["check", "zephyr", "--at", name, "--repo", repo]);
        assert!(at("HEAD").unwrap().contains(" has the command line target\n"));
        assert!(at("HEAD~1").unwrap().contains(" has the command line range\n"));
        assert!(at("HEAD~2").unwrap_err().to_string().ends_with("unknown command line; known are target, range"));
        assert!(at("--help").is_err() && at("absent").is_err());
        assert!(suite(&["check", "demo", "--at", "HEAD", "--repo", repo]).is_err());
    }
}
