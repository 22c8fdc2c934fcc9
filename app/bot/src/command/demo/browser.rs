//! The browser of the desktop.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// What opens an address.
const PROGRAM: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Shows a page. Where there is no browser nothing happens: the address stands on the terminal.
pub(super) fn show(page: &str) {
    let mut command = Command::new(PROGRAM);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // What ends the demo in a terminal is not to end the browser.
    if let Ok(mut child) = command.process_group(0).spawn() {
        std::thread::spawn(move || child.wait());
    }
}
