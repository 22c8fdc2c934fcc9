//! The scripts beside a suite's file: their text is what counts.

use std::path::Path;

use domain::setting::Setting;
use domain::workload::Known;
use suite::setup::{LARGEST, Setup};
use suite::{Backend, Beside, Suite, resolve};

use crate::{SCRIPTS, ZEPHYR};

/// What the launcher's `setup` says, and the folder of the suite.
fn load(setup: &str, folder: &Path) -> Result<Suite, String> {
    let (before, rest) = ZEPHYR.split_once("setup       = {").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    let path = folder.join("s.toml");
    std::fs::write(&path, format!("{before}setup = {setup}\n{after}")).unwrap();
    let shown = folder.display().to_string();
    suite::load(&path.to_str().unwrap().into(), None)
        .map_err(|error| error.to_string().replace(shown.trim_end_matches('/'), "DIR"))
}

fn setup(suite: &Suite) -> &Setup {
    let Backend::Iris(cluster) = &suite.backend else { panic!("not a cluster") };
    &cluster.launcher.setup
}

fn workload(suite: &Suite) -> Known {
    let resolved = resolve(suite, &domain::request::Options::default()).unwrap();
    resolved.control.workload.get("launcher_setup").clone()
}

#[test]
fn a_file_beside_the_suite_is_read_with_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/a.sh"), "echo ä\n").unwrap();
    std::fs::write(folder.path().join("b.sh"), "#".repeat(LARGEST)).unwrap();
    let suite = load("\"in/a.sh\"", folder.path()).unwrap();
    let both = setup(&suite);
    assert_eq!((both.scripts[0].path.as_str(), both.scripts[0].text.as_str()), ("in/a.sh", "echo ä\n"));
    assert_eq!(both.scripts, both.commands, "one path means both");
    let suite = load("{ scripts = [], commands = [\"b.sh\", \"in/a.sh\"] }", folder.path()).unwrap();
    let paths: Vec<&str> = setup(&suite).commands.iter().map(|script| script.path.as_str()).collect();
    assert_eq!((setup(&suite).scripts.len(), paths), (0, vec!["b.sh", "in/a.sh"]), "in the order of the list");
    let suite = load("{ scripts = [], commands = [] }", folder.path()).unwrap();
    assert!(setup(&suite).is_empty());
    assert_eq!(workload(&suite), Known::Unset);
}

#[test]
fn the_workload_has_the_text_and_not_only_the_path() {
    let of = |text| {
        let beside = [("setup/uv-sync.sh", text), ("setup/runtime.sh", "true")];
        workload(&Suite::parse_beside("s.toml", ZEPHYR, Beside::Texts(&beside)).unwrap())
    };
    assert_eq!(of("uv sync"), of("uv sync"));
    assert_ne!(of("uv sync"), of("uv sync --frozen"));
    let suite = Suite::parse_beside("s.toml", ZEPHYR, SCRIPTS).unwrap();
    let Known::Set(Setting::List(lines)) = workload(&suite) else { panic!("not a list") };
    assert_eq!(lines, ["scripts f5721b5c3f5b", "commands f5721b5c3f5b", "commands 4167f21dadfe"]);
}

#[test]
fn files_that_cannot_be_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join("suites").join(name);
    std::fs::create_dir_all(at("folder")).unwrap();
    std::fs::write(folder.path().join("outside.sh"), "true").unwrap();
    std::os::unix::fs::symlink("../outside.sh", at("leads-out.sh")).unwrap();
    std::os::unix::fs::symlink("loop.sh", at("loop.sh")).unwrap();
    std::fs::write(at("large.sh"), "#".repeat(LARGEST + 1)).unwrap();
    std::fs::write(at("latin1.sh"), b"echo \xe4\n").unwrap();
    std::fs::write(at("empty.sh"), " \n").unwrap();
    std::fs::write(at("zero.sh"), "a\0").unwrap();
    let names = [
        "absent.sh",
        "../outside.sh",
        "/etc/passwd",
        "leads-out.sh",
        "loop.sh",
        "folder",
        "empty.sh/x",
        "large.sh",
        "latin1.sh",
        "empty.sh",
        "zero.sh",
    ];
    let shown = names.map(|name| load(&format!("\"{name}\""), &at("")).unwrap_err());
    insta::assert_snapshot!(shown.join("\n"));
    let listed = load("{ scripts = [], commands = [\"large.sh\"] }", &at("")).unwrap_err();
    assert!(listed.contains(": launcher.setup.commands[1]: \"large.sh\": "), "{listed}");
    let nowhere = Suite::parse("s.toml", ZEPHYR).unwrap_err().to_string();
    assert!(nowhere.ends_with("\"setup/uv-sync.sh\": there is no such file beside the suite"), "{nowhere}");
}

/// What the program's own scripts ask of uv, in a folder with or without a lock file.
fn asked_of_uv(locked: bool, link_mode: Option<&str>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("bin")).unwrap();
    std::fs::create_dir_all(at("work/.venv")).unwrap();
    if locked {
        std::fs::write(at("work/uv.lock"), "").unwrap();
    }
    let log = at("log");
    std::fs::write(at("bin/uv"), format!("#!/bin/sh\necho \"$PWD: $*\" >> '{}'\n", log.display())).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(at("bin/uv"), executable).unwrap();
    let suite = suite::load(&"zephyr".into(), None).unwrap();
    for script in &setup(&suite).commands {
        let mut bash = std::process::Command::new("bash");
        bash.arg("-c").arg(&script.text).current_dir("/").stdout(std::process::Stdio::null());
        bash.env("PATH", format!("{}:{}", at("bin").display(), std::env::var("PATH").unwrap()));
        bash.env("IRIS_WORKDIR", at("work")).env("IRIS_VENV", at("work/.venv")).env_remove("UV_LINK_MODE");
        if let Some(mode) = link_mode {
            bash.env("UV_LINK_MODE", mode);
        }
        assert!(bash.status().unwrap().success(), "{}", script.path);
    }
    let work = format!("{}: ", at("work").display());
    std::fs::read_to_string(log).unwrap().lines().map(|line| line.replace(&work, "")).collect()
}

#[test]
fn the_scripts_ask_what_the_official_command_line_asks() {
    let sync = "--python 3.12 --all-packages --no-dev --extra cpu";
    assert_eq!(
        asked_of_uv(true, None),
        [
            format!("sync --frozen --link-mode copy {sync}"),
            "pip install --link-mode copy cloudpickle py-spy memray".to_owned()
        ]
    );
    assert_eq!(asked_of_uv(false, Some("symlink"))[0], format!("sync --link-mode symlink {sync}"));
}
