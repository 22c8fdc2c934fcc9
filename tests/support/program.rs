//! The built program as a child process.

use std::io::Write;
use std::process::{Command, Stdio};

/// What a call of the program came to.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program with `args` and feeds it `stdin`.
pub(crate) fn run(args: &[&str], stdin: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_zephyr-ab"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("piped");
    let input = stdin.to_vec();
    // A program that refuses early closes its end before it has read everything; that is not our failure.
    let feeder = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    feeder.join().expect("feeding never panics");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// The answer of `judge` in `format` for a case on stdin.
pub(crate) fn judge(case: &str, format: &str) -> String {
    let ran = run(&["judge", "--input", "-", "--format", format], case.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{case}");
    ran.stdout
}
