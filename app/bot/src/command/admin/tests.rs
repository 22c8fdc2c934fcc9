use super::which::Named;
use super::*;

#[test]
fn what_is_meant() {
    let run = "20261129T202850Z-8d10c1b5";
    for (text, expected) in [
        (run, Some(Named::Run(run.parse().unwrap()))),
        ("run:20261129T202850Z-8d10c1b5", Some(Named::Run(run.parse().unwrap()))),
        ("pull:7:12", Some(Named::Pull(7, 12))),
        ("octo/demo#12", Some(Named::At("octo/demo".to_owned(), 12))),
        ("octo/demo#x", None),
        ("demo#1", None),
        ("/demo#1", None),
        ("pull:7:99999999999999999999", None),
        ("", None),
    ] {
        assert_eq!(text.parse::<Named>().ok(), expected, "{text}");
    }
}

#[test]
fn a_configuration_that_no_service_has_run_with_has_nothing_to_show() {
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("x.toml");
    let text = "[github]\napp_id = 7\nprivate_key_file = \"key\"\nwebhook_secret_file = \"secret\"\n\
                [store]\nurl = \"sqlite:a.db\"\n[service]\ndata_dir = \"data\"\n";
    std::fs::write(&config, text).unwrap();
    let line = ["admin", "run", "show", "octo/demo#1", "--config", config.to_str().unwrap()];
    let line = Line::try_parse_from(line).unwrap();
    let (shown, printed) = crate::world::tests::with_world(|world| run(&line.args, world));
    assert_eq!(shown.unwrap_err().to_string(), "the store is empty: no service has run with this configuration");
    assert_eq!(printed, "");
    assert!(!folder.path().join("a.db").exists());
}
