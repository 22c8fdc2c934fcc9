//! A repository to start from: `octo/demo` with two pull requests.

use crate::model::Kind;
use crate::{Error, Sandbox};

/// The repository.
pub const REPOSITORY: &str = "octo/demo";

const BENCH: &str = r#"# A benchmark in plain shell: three steps, each of which waits for its data and then turns a loop. The last line that a
# step prints counts its work.
loops=@LOOPS@

# fetch: waits for the data, without work.
fetch() {
  sleep 0.5
}

# turn N: the work of a step, N times.
turn() {
  i=0
  sum=0
  while [ "$i" -lt "$1" ]; do
    sum=$(( (sum * 31 + i) % 65521 ))
    i=$(( i + 1 ))
  done
}

case "$1" in
  load) fetch; turn "$loops" ;;
  join) fetch; turn "$loops" ;;
  store) fetch; turn "$loops" ;;
  *) echo "usage: sh bench.sh load|join|store" >&2; exit 64 ;;
esac
echo "{\"items\": $loops}"
"#;
const README: &str = "# A small benchmark\n\n`sh bench.sh load|join|store` turns a loop and says how often.\n";
const JOIN: &str = "  join) fetch; turn \"$loops\" ;;";

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// The pull request of `maintainer`, whose second step does its work twice.
    pub slower: u64,
    /// The pull request of `visitor` from a fork, which changes a comment.
    pub fork: u64,
    /// The installation of the app.
    pub installation: u64,
}

/// Makes the repository, with steps that turn their loop so often. `maintainer` may write, `bob` may read, `visitor` may
/// do nothing.
///
/// # Errors
/// [`Error::Refused`] where there is one already.
pub fn make(sandbox: &Sandbox, loops: u64) -> Result<Demo, Error> {
    sandbox.repository(REPOSITORY)?;
    for (login, role) in [("maintainer", "write"), ("bob", "read"), ("visitor", "none")] {
        sandbox.grant(REPOSITORY, login, role)?;
    }
    let _ = sandbox.user("octo", Kind::Organization);
    let main = BENCH.replace("@LOOPS@", &loops.to_string());
    sandbox.commit(
        REPOSITORY,
        "main",
        &[("bench.sh", Some(&main)), ("README.md", Some(README))],
        "A benchmark in three steps",
    )?;
    let installation = sandbox.install("octo", &[REPOSITORY])?;
    let twice = main.replace(JOIN, "  join) fetch; turn \"$loops\"; turn \"$loops\" ;;");
    sandbox.commit(REPOSITORY, "slower", &[("bench.sh", Some(&twice))], "Check every row twice")?;
    let slower = sandbox.pull(REPOSITORY, "slower", "main", "Check every row twice", "maintainer")?;
    sandbox.fork(REPOSITORY, "visitor")?;
    let same = main.replace("# turn N: the work", "# turn N: all of the work");
    sandbox.commit("visitor/demo", "words", &[("bench.sh", Some(&same))], "Say more in a comment")?;
    let fork = sandbox.pull(REPOSITORY, "visitor/demo:words", "main", "Say more in a comment", "visitor")?;
    Ok(Demo { slower, fork, installation })
}
