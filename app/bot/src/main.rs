//! The one binary. The outside world (arguments, streams, machine, randomness) is taken hold of here and passed on.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use bot::cli::Cli;
use bot::world::{Machine, Secrets, SystemClock, World};
use clap::Parser;
use rand::TryRng;
use rand::rngs::SysRng;

fn main() -> ExitCode {
    // Before anything else may start a thread: everything below a supervisor is taken for the step that it measures.
    if std::env::args_os().nth(1).is_some_and(|first| first == bot::command::run::SUPERVISE) {
        return lab::supervisor::main();
    }
    let cli = Cli::parse();
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let is_set = |name: &str| variables.iter().any(|(known, value)| known == name && !value.is_empty());
    let windows = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    let machine = Machine {
        program: std::env::current_exe().unwrap_or_default(),
        path: std::env::var_os("PATH").unwrap_or_default(),
        temp: std::env::temp_dir(),
        processors: std::thread::available_parallelism().map_or(1, Into::into),
        display: cfg!(target_os = "macos") || windows,
        // Without a random source two runs in the same second get the same id, which is refused, never mixed up.
        random: SysRng.try_next_u32().unwrap_or_default(),
        secrets: Secrets::of(variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))),
        clock: SystemClock,
    };
    let (mut stdin, mut stdout, mut stderr) = (io::stdin().lock(), io::stdout().lock(), io::stderr());
    let (terminal, answers) = (stderr.is_terminal(), stdin.is_terminal() && stderr.is_terminal());
    let mut world = World { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr, terminal, answers, machine };
    match cli.run(&mut world).and_then(|exit| Ok(world.stdout.flush().map(|()| exit)?)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if !failure.is_closed_pipe() {
                // Nobody is left to tell when this fails.
                let _ = writeln!(io::stderr(), "error: {failure}");
            }
            failure.exit().into()
        }
    }
}
