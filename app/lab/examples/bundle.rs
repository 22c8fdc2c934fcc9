//! Times the bundles of two arms: `bundle REPO COMMIT1 COMMIT2 [FILE]`. Prints milliseconds, files and bytes of each;
//! the second is made by the bundler that made the first. `FILE` is where the second is written to.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use lab::bundle::Bundler;
use lab::git::{Mirror, Source};

#[allow(clippy::disallowed_methods)] // measuring time is the purpose
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (repo, commits) = arguments.split_first().ok_or("REPO COMMIT1 COMMIT2 [FILE]")?;
    let (commits, file) = commits.split_at_checked(2).ok_or("REPO COMMIT1 COMMIT2 [FILE]")?;
    let folder = std::env::temp_dir().join(format!("zephyr-ab-bundle-{}", std::process::id()));
    let mirror = Mirror::open(&folder, &std::env::var_os("PATH").unwrap_or_default())?;
    mirror.fetch(&Source::folder(Path::new(repo))?)?;
    let bundler = Bundler::new(mirror.clone());
    let mut out = std::io::stdout().lock();
    for (arm, name) in ["first", "second"].iter().zip(commits) {
        let commit = mirror.resolve(name)?;
        let start = std::time::Instant::now();
        let bundle = bundler.bundle(&commit, None)?;
        let took = start.elapsed().as_secs_f64() * 1000.0;
        writeln!(out, "{arm} {took:.1} ms, {} files, {} bytes", bundle.files, bundle.bytes.len())?;
        if let (Some(file), "second") = (file.first(), *arm) {
            std::fs::write(file, &bundle.bytes)?;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
