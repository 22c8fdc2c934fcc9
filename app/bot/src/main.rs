//! The one binary. The outside world (arguments, streams, terminal) is taken hold of here and passed on.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use bot::cli::{Cli, World};
use clap::Parser;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut stdin = io::stdin().lock();
    let mut stdout = io::stdout().lock();
    let mut stderr = io::stderr();
    let terminal = stderr.is_terminal();
    let mut world = World { stdin: &mut stdin, stdout: &mut stdout, terminal };
    match cli.run(&mut world).and_then(|exit| Ok(stdout.flush().map(|()| exit)?)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if !failure.is_closed_pipe() {
                // Nobody is left to tell when this fails.
                let _ = writeln!(stderr, "error: {failure}");
            }
            failure.exit().into()
        }
    }
}
