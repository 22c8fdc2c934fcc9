//! What is refused before anything starts: one line, an exit code, and no job.

use std::fs;

use super::rig::Rig;

pub(super) fn before_anything_starts(rig: &Rig) {
    let marks = |text: String| text.replace("--first-stage", "--begin").replace("--last-stage", "--end");
    rig.branch("strange", "main", marks);
    rig.branch("ruler", "main", |text| text + "# a comment\n");
    fs::write(rig.world.path("nobody.toml"), "[clusters.rig]\ncontroller = \"http://127.0.0.1:1\"\n").expect("a file");
    let before = rig.proxy.calls().len();
    // Only what the cluster does is code 1; all else is for whoever asked.
    for (code, words, expected) in [
        (2, &["sample=gs://bucket/sample"][..], &["no locality", "gs://bucket/sample", "file:///"][..]),
        (
            2,
            &["harness=head", "--head", "strange"],
            &["unknown command line", "target", "range", "nothing was started"],
        ),
        (2, &["--head", "ruler"], &["only the benchmark itself differs", "nothing was started", "harness=head"]),
        (1, &["--head", "pr"], &["cluster rig at http://127.0.0.1:1", "refused"]),
    ] {
        let mut args = Rig::run_args("rig", "refused", words);
        if code == 1 {
            args.iter_mut().filter(|word| **word == "cluster.toml").for_each(|word| *word = "nobody.toml");
        }
        let ran = rig.world.call(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{words:?}: {}", ran.stderr);
        let line = ran.stderr.trim_end();
        assert!(line.starts_with("error: ") && !line.contains(char::is_control), "{words:?}: {line:?}");
        for part in expected {
            assert!(line.contains(part), "{words:?}: {line}");
        }
    }
    assert!(rig.proxy.calls()[before..].iter().all(|call| call.method == "GetCurrentUser"), "something else was asked");
    assert!(!super::rig::exists(&rig.world.path("refused")), "a folder is left");
}
