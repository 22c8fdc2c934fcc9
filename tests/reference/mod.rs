//! The executable reference of the procedure, as a child process that answers cases one a line.

mod compare;
mod minimise;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(crate) use compare::{Compared, close, difference, unequal};
pub(crate) use minimise::minimise;

use crate::support::json::Json;
use crate::support::root;

/// The Python that has the reference's packages. `None`, with a line that says so, where there is none; a failure in CI.
pub(crate) fn python() -> Option<PathBuf> {
    let path = std::env::var_os("ZEPHYR_AB_PYTHON").map_or_else(|| root().join(".venv/bin/python"), PathBuf::from);
    let works = Command::new(&path)
        .args(["-c", "import numpy, scipy"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if works {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "no reference environment at {}", path.display());
    println!("skipped: no reference environment ({})", path.display());
    None
}

/// What the reference says of a case.
#[derive(Debug)]
pub(crate) enum Answer {
    Result(Json),
    Refused(String),
    Crashed(String),
}

/// A running reference.
pub(crate) struct Reference {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Reference {
    pub(crate) fn start(python: &PathBuf) -> Self {
        let mut child = Command::new(python)
            .arg(root().join("tests/stats/serve_oracle.py"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // Two of these run at once; threads of their own only get in the way.
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the reference starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output }
    }

    pub(crate) fn ask(&mut self, case: &str) -> Answer {
        assert!(!case.contains('\n'), "one line a case");
        writeln!(self.input, "{case}").and_then(|()| self.input.flush()).expect("the reference listens");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the reference answers");
        let answer = Json::read(&line);
        let (kind, value) = answer.fields().first().cloned().expect("one field");
        match (kind.as_str(), value) {
            ("ok", result) => Answer::Result(result),
            ("usage_error", Json::Text(message)) => Answer::Refused(message),
            ("crash", Json::Text(message)) => Answer::Crashed(message),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // Ours alone, and it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
