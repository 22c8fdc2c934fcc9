//! `zephyr-ab manifest`: makes the app at the forge, with what it needs and nothing more.
//!
//! [`text`] is the manifest; `exchange` gets what belongs to the app for the code that the forge gives for one; `keep` writes
//! that into files; `page` serves the one page that brings a browser to the forge and back.

mod exchange;
mod keep;
mod page;
pub mod text;

use std::path::PathBuf;

use reqwest::Url;

use self::exchange::Made;
use self::keep::Place;
use self::text::Wanted;
use super::run::runtime;
use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Makes the GitHub App of a service: prints its manifest, or brings it to GitHub and keeps what comes of it.
///
/// With --serve a page on this machine sends the manifest to GitHub, where a person agrees to it; the private key and the
/// secret of the webhook then come back into files that only their owner reads, beside a configuration that names them.
/// Nothing secret is printed, and no file is overwritten. Without a browser on this machine: send the printed manifest to GitHub
/// from elsewhere, and give the code that the browser is sent back with to --code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab manifest --url https://ab.example
  zephyr-ab manifest --url https://ab.example --org octo-org --serve --out /etc/zephyr-ab
  zephyr-ab manifest --url https://ab.example --code 3c5a... --out /etc/zephyr-ab
  zephyr-ab manifest --url http://127.0.0.1:8080 --web http://127.0.0.1:4000 --api http://127.0.0.1:4000 --serve")]
pub struct Args {
    /// The address under which GitHub reaches the service, without /webhook.
    #[arg(long, value_name = "URL", value_parser = address)]
    url: Url,
    /// The organisation that the app belongs to [default: whoever is logged in].
    #[arg(long, value_name = "ORG", value_parser = organisation)]
    org: Option<String>,
    /// What the app is called; names are unique at GitHub.
    #[arg(long, default_value = "zephyr-ab", value_parser = name)]
    name: String,
    /// Serve the page that makes the app.
    #[arg(long, conflicts_with = "code")]
    serve: bool,
    /// The port of that page on 127.0.0.1; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "serve")]
    port: u16,
    /// Exchange this code, which a browser was sent back with, for the app.
    #[arg(long, value_name = "CODE", value_parser = code)]
    code: Option<String>,
    /// The folder in which the files of the app are written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Where pages of the forge are.
    #[arg(long, value_name = "URL", default_value = "https://github.com", value_parser = address)]
    web: Url,
    /// Where its API is; that of an Enterprise Server ends with /api/v3.
    #[arg(long, value_name = "URL", default_value = "https://api.github.com", value_parser = address)]
    api: Url,
}

fn address(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|_| "it is no address such as https://ab.example".to_owned())?;
    let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if url.scheme() != "https" && !(url.scheme() == "http" && here) {
        return Err("it must begin with https://, but on this machine".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err("neither a login nor ? nor # may stand in it".to_owned());
    }
    Ok(url)
}

fn organisation(text: &str) -> Result<String, String> {
    let fits = (1..=39).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits && !text.starts_with('-') {
        Ok(text.to_owned())
    } else {
        Err("it is no name of an organisation".to_owned())
    }
}

fn name(text: &str) -> Result<String, String> {
    // GitHub's limit.
    let fits = (1..=34).contains(&text.chars().count()) && !text.chars().any(char::is_control) && text.trim() == text;
    if fits { Ok(text.to_owned()) } else { Err("1 to 34 characters".to_owned()) }
}

fn code(text: &str) -> Result<String, String> {
    let fits = (1..=200).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if fits { Ok(text.to_owned()) } else { Err("the code is what stands after code= in the address".to_owned()) }
}

/// An address without a slash at its end.
fn plain(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

/// Runs the command.
///
/// # Errors
/// A file that is there already, a code that the forge does not take, or a folder that cannot be written.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let wanted = Wanted { url: plain(&args.url), name: &args.name };
    if let Some(code) = &args.code {
        let place = Place::reserve(&args.out)?;
        let made = runtime()?.block_on(exchange::exchange(plain(&args.api), code))?;
        return kept(args, place, &made, world);
    }
    if args.serve {
        let place = Place::reserve(&args.out)?;
        let made = runtime()?.block_on(page::serve(args, &wanted, world))?;
        return kept(args, place, &made, world);
    }
    serde_json::to_writer_pretty(&mut *world.stdout, &wanted.manifest(None)).map_err(std::io::Error::from)?;
    writeln!(world.stdout)?;
    Ok(Exit::Done)
}

/// Writes what belongs to the app into its files, and says what to do next.
fn kept(args: &Args, place: Place, made: &Made, world: &mut World<'_>) -> Result<Exit, Failure> {
    let config = place.write(made, plain(&args.url), plain(&args.web), plain(&args.api))?;
    let install = format!("{}/apps/{}/installations/new", plain(&args.web), made.slug);
    writeln!(
        world.stdout,
        "app {} ({}) is made\n\nInstall it where it is to be used:\n  {install}\nComplete the configuration and look at it:\n  \
         zephyr-ab doctor --config {config}\nServe it:\n  zephyr-ab serve --config {config}",
        made.slug,
        made.id,
        config = config.display()
    )?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given() {
        for (text, fits) in [
            ("https://ab.example", true),
            ("https://ab.example/under/", true),
            ("http://127.0.0.1:8080", true),
            ("http://ab.example", false),
            ("https://u:p@ab.example", false),
            ("https://ab.example/?x", false),
            ("ab.example", false),
            ("javascript:alert(1)", false),
        ] {
            assert_eq!(address(text).is_ok(), fits, "{text}");
        }
        for (text, fits) in [("octo-org", true), ("", false), ("-x", false), ("a/b", false), ("a b", false)] {
            assert_eq!(organisation(text).is_ok(), fits, "{text}");
        }
        for (text, fits) in [("abc123", true), ("", false), ("../x", false), ("a b", false), ("a?b", false)] {
            assert_eq!(code(text).is_ok(), fits, "{text}");
        }
        assert!(name("zephyr ab of octo").is_ok() && name(&"x".repeat(35)).is_err() && name("a\nb").is_err());
    }
}
