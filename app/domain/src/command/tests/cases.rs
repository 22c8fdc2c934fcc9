//! What lines come to.

use super::*;

#[test]
fn lines_are_understood() {
    for (line, expected) in [
        ("/ab-test zephyr", "zephyr|run"),
        ("/ab-test zephyr run", "zephyr|run"),
        ("/ab-test   zephyr\t preset=light ", "zephyr|run|preset=light"),
        ("/ab-test zephyr run preset=full rounds=+2", "zephyr|run|preset=full|rounds=+2"),
        ("/ab-test help", "-|help"),
        ("/ab-test status", "-|status"),
        ("/ab-test zephyr help", "zephyr|help"),
        ("/ab-test zephyr status", "zephyr|status"),
        ("/ab-test zephyr cancel", "zephyr|cancel"),
        ("/ab-test demo retry", "demo|retry"),
        ("/ab-test zephyr plan sha=4F2A9C1", "zephyr|plan|sha=4F2A9C1"),
        ("/ab-test zephyr calibrate preset=light", "zephyr|calibrate|preset=light"),
        ("/ab-test zephyr aa", "zephyr|aa"),
        ("/ab-test zephyr confirm", "zephyr|confirm"),
        ("/ab-test zephyr confirm 4f2a9C", "zephyr|confirm|4f2a9C"),
        ("/ab-test zephyr explain minhash · stage0-Map → Write", "zephyr|explain|minhash · stage0-Map → Write"),
        ("/ab-test zephyr skip  only docs, nothing runs.", "zephyr|skip|only docs, nothing runs."),
        ("/ab-test zephyr accept help preset=x is right", "zephyr|accept|help preset=x is right"),
        ("/ab-test zephyr auto on", "zephyr|auto|on"),
        ("/ab-test zephyr auto off", "zephyr|auto|off"),
        (
            "/ab-test zephyr compare control=/me/a,/me/b treatment=x@/me/c treatment=y@/me/d",
            "zephyr|compare|control=/me/a,/me/b|treatment=x@/me/c|treatment=y@/me/d",
        ),
        (
            "/ab-test zephyr treatment=wide@head,pool_workers=96,env.A=1 treatment=b@0123456 mode=fast",
            "zephyr|run|treatment=wide@head,pool_workers=96,env.A=1|treatment=b@0123456|mode=fast",
        ),
        ("/ab-test zephyr sources=a_b,*c* first-stage=minhash", "zephyr|run|sources=a_b,*c*|first-stage=minhash"),
    ] {
        assert_eq!(understood(line), expected, "{line}");
    }
}

#[test]
fn every_example_of_the_table_is_understood_as_its_verb() {
    for verb in VERBS {
        let command = read(verb.example, &known()).unwrap().unwrap();
        assert_eq!(command.verb, verb);
        assert_eq!(Verb::of(verb.name), Some(verb), "no name stands twice");
        let said = [command.digest.is_some(), command.reason.is_some(), command.row.is_some(), command.state.is_some()];
        let expected = [Positional::Digest, Positional::Reason, Positional::Row, Positional::State];
        assert_eq!(said, expected.map(|positional| positional == verb.positional), "{}", verb.name);
    }
    assert_eq!(Verb::DEFAULT.name, "run");
}

/// Lines that are refused: the code, and what the message must say.
const REFUSED: &[(&str, Code, &str)] = &[
    ("/ab-test", Code::MissingArgument, "suites: demo, rig, zephyr"),
    ("/ab-test cancel", Code::MissingArgument, "cancel needs the suite"),
    ("/ab-test preset=light", Code::MissingArgument, "run needs the suite"),
    ("/ab-test skip only docs", Code::MissingArgument, "skip needs the suite"),
    ("/ab-test confirm $(id)", Code::MissingArgument, "confirm needs the suite"),
    ("/ab-test zephyr skip", Code::MissingArgument, "skip needs a reason"),
    ("/ab-test zephyr accept \t", Code::MissingArgument, "accept needs a reason"),
    ("/ab-test zephyr explain", Code::MissingArgument, "explain needs a row"),
    ("/ab-test zephyr auto", Code::MissingArgument, "auto needs on or off"),
    ("/ab-test zephir", Code::UnknownSuite, "nearest: zephyr"),
    ("/ab-test Zephyr", Code::UnknownSuite, "nearest: zephyr"),
    ("/ab-test ZEPHYR", Code::UnknownSuite, "nearest: zephyr"),
    ("/ab-test zephyr.", Code::UnknownSuite, "nearest: zephyr; remove the full stop"),
    ("/ab-test hepl", Code::UnknownSuite, "nearest: help"),
    ("/ab-test help.", Code::UnknownSuite, "remove the full stop"),
    ("/ab-test --help", Code::UnknownSuite, "\"--help\""),
    ("/ab-test `zephyr`", Code::UnknownSuite, "nearest: zephyr"),
    ("/ab-test zephyr cancle", Code::UnknownVerb, "nearest: cancel"),
    ("/ab-test zephyr cancel.", Code::UnknownVerb, "remove the full stop"),
    ("/ab-test zephyr light", Code::UnknownVerb, "write preset=light"),
    ("/ab-test zephyr please run", Code::UnknownVerb, "\"please\""),
    ("/ab-test zephyr --upload-pack x", Code::UnknownVerb, "\"--upload-pack\""),
    ("/ab-test zephyr presett=light", Code::UnknownKey, "nearest: preset"),
    ("/ab-test zephyr Preset=light", Code::UnknownKey, "nearest: preset"),
    ("/ab-test zephyr pool_workrs=3", Code::UnknownKey, "nearest: pool_workers"),
    ("/ab-test zephyr frst-stage=exact", Code::UnknownKey, "nearest: first-stage"),
    ("/ab-test demo sample=x", Code::UnknownKey, "\"sample\""),
    ("/ab-test zephyr env.PATH=x", Code::UnknownKey, "\"env.PATH\""),
    ("/ab-test zephyr --upload-pack=x", Code::UnknownKey, "\"--upload-pack\""),
    ("/ab-test zephyr =x", Code::UnknownKey, "\"\""),
    ("/ab-test zephyr compare preset=light", Code::UnknownKey, "control, treatment"),
    ("/ab-test zephyr preset=lihgt", Code::UnknownValue, "one of light, full; nearest: light"),
    ("/ab-test zephyr preset=light.", Code::UnknownValue, "remove the full stop"),
    ("/ab-test demo preset=light", Code::UnknownValue, "demo has no presets"),
    ("/ab-test zephyr mode=exakt", Code::UnknownValue, "one of fast, exact; nearest: exact"),
    ("/ab-test zephyr mode=fast.", Code::UnknownValue, "remove the full stop"),
    ("/ab-test zephyr priority=intractive", Code::UnknownValue, "nearest: interactive"),
    ("/ab-test zephyr harness=head.", Code::UnknownValue, "remove the full stop"),
    ("/ab-test zephyr auto onn", Code::UnknownValue, "nearest: on"),
    ("/ab-test zephyr auto off.", Code::UnknownValue, "nearest: off; remove the full stop"),
    ("/ab-test zephyr sha=4f2a9c1.", Code::BadValue, "remove the full stop"),
    ("/ab-test zephyr sample=gs://a/b.", Code::BadValue, "remove the full stop"),
    ("/ab-test zephyr sha=main", Code::BadValue, "7 to 40 hexadecimal digits"),
    ("/ab-test zephyr rounds=0", Code::BadValue, "1 to 100 rounds"),
    ("/ab-test zephyr preset=", Code::BadValue, "is empty"),
    ("/ab-test zephyr preset=“light”", Code::BadValue, "'“'; allowed: 1 to 1000 characters A-Z"),
    ("/ab-test zephyr preset=\"light\"", Code::BadValue, "'\"'; allowed"),
    ("/ab-test zephyr sources=\"x'; echo hello; '\"", Code::BadValue, "'\"'; allowed: 1 to 1000 characters A-Z"),
    ("/ab-test zephyr sample=gs://b/../../c", Code::BadValue, "without /../"),
    ("/ab-test zephyr sample=-x", Code::BadValue, "starts with -; allowed"),
    ("/ab-test zephyr treatment=a@--upload-pack=x", Code::BadValue, "neither head nor 7 to 40 hexadecimal digits"),
    ("/ab-test zephyr preset=$(id)", Code::BadValue, "'$'; allowed: 1 to 1000 characters A-Z"),
    ("/ab-test zephyr preset=light;id", Code::BadValue, "';'; allowed"),
    ("/ab-test zephyr preset=\u{ff4c}ight", Code::BadValue, "allowed"),
    ("/ab-test zephyr compare control=$(id)", Code::BadValue, "'$'; allowed"),
    ("/ab-test zephyr treatment=head@0123456", Code::BadValue, "choose another name"),
    ("/ab-test zephyr treatment=control@0123456", Code::BadValue, "it is the arm that treatments are compared with"),
    ("/ab-test zephyr treatment=a@head treatment=a@0123456", Code::BadValue, "needs a name of its own"),
    ("/ab-test zephyr confirm xyz", Code::BadValue, "6 to 64 hexadecimal digits"),
    ("/ab-test zephyr confirm 4f2a9c1b.", Code::BadValue, "remove the full stop"),
    ("/ab-test\u{a0}zephyr", Code::BadValue, "U+00A0"),
    ("/ab-test zephyr\u{2003}preset=light", Code::BadValue, "U+2003"),
    ("/ab-test zephyr preset=li\u{200b}ght", Code::BadValue, "U+200B"),
    ("/ab-test zeph\u{202e}yr", Code::BadValue, "U+202E"),
    ("/ab-test zephyr skip a\u{1b}[31m", Code::BadValue, "U+001B"),
    ("/ab-test zephyr skip a\u{202e}b", Code::BadValue, "U+202E"),
    ("/ab-test zephyr preset=light preset=full", Code::DuplicateKey, "only treatment may be repeated"),
    ("/ab-test zephyr preset=light preset=light", Code::DuplicateKey, "preset"),
    ("/ab-test zephyr sample=a sample=b", Code::DuplicateKey, "sample"),
    ("/ab-test zephyr compare control=/a control=/b", Code::DuplicateKey, "control"),
    ("/ab-test help me", Code::TrailingText, "help takes nothing, and \"me\" follows"),
    ("/ab-test status zephyr", Code::TrailingText, "\"zephyr\""),
    ("/ab-test zephyr cancel now", Code::TrailingText, "cancel takes nothing"),
    ("/ab-test zephyr cancel preset=light", Code::TrailingText, "\"preset=light\""),
    ("/ab-test zephyr confirm 4f2a9c1b now", Code::TrailingText, "nothing but its digest"),
    ("/ab-test zephyr confirm preset=light", Code::TrailingText, "nothing but its digest"),
    ("/ab-test zephyr auto on off", Code::TrailingText, "nothing but its state"),
    ("/ab-test zephyr run now", Code::TrailingText, "\"now\""),
    ("/ab-test zephyr preset=light cancel", Code::TrailingText, "a verb stands directly after the suite"),
    ("/ab-test zephyr preset=light .", Code::TrailingText, "remove the full stop"),
    ("/ab-test zephyr preset=light, please", Code::UnknownValue, "nearest: light"),
    ("/ab-test zephyr rounds=2 full", Code::TrailingText, "write preset=full"),
];

#[test]
fn lines_are_refused_with_the_reason() {
    for (line, code, says) in REFUSED {
        let error = refused(line);
        assert_eq!(error.code, *code, "{line}: {error}");
        assert!(error.message.contains(says), "{line}: {error}");
        assert!(!error.message.contains('\n'), "{line}: {error}");
    }
}

#[test]
fn what_is_too_much_is_refused() {
    let most = crate::request::MOST_PAIRS;
    let pairs = |count: usize| {
        let pairs: Vec<String> = (0..count).map(|n| format!("treatment=t{n}@head")).collect();
        format!("/ab-test zephyr {}", pairs.join(" "))
    };
    assert!(read(&pairs(most), &known()).is_ok());
    assert_eq!(refused(&pairs(most + 1)).code, Code::TooLong);
    assert_eq!(refused(&format!("/ab-test zephyr skip {}", "x".repeat(LONGEST_REASON + 1))).code, Code::TooLong);
    assert_eq!(refused(&format!("/ab-test zephyr explain {}", "x".repeat(LONGEST_ROW + 1))).code, Code::TooLong);
    for (line, code) in [
        (format!("/ab-test zephyr treatment={}@head", "x".repeat(300)), Code::BadValue),
        (format!("/ab-test zephyr sample={}", "x".repeat(1001)), Code::BadValue),
        (format!("/ab-test {}", "x".repeat(300)), Code::UnknownSuite),
        (format!("/ab-test zephyr {}", "x".repeat(300)), Code::UnknownVerb),
        (format!("/ab-test zephyr {}=1", "x".repeat(300)), Code::UnknownKey),
        (format!("/ab-test zephyr preset={}", "x".repeat(300)), Code::UnknownValue),
    ] {
        let error = refused(&line);
        assert_eq!(error.code, code, "{error}");
        assert!(!error.message.contains(&"x".repeat(41)), "foreign text stays short: {error}");
    }
}

#[test]
fn a_whole_line_to_type_is_given() {
    for (line, instead) in [
        ("/ab-test", "/ab-test zephyr"),
        ("/ab-test cancel", "/ab-test zephyr cancel"),
        ("/ab-test run", "/ab-test zephyr run"),
        ("/ab-test preset=light", "/ab-test zephyr preset=light"),
        ("/ab-test run preset=light", "/ab-test zephyr preset=light"),
        ("/ab-test skip", "/ab-test zephyr skip <reason>"),
        ("/ab-test skip only docs", "/ab-test zephyr skip only docs"),
        ("/ab-test confirm `x`", "/ab-test zephyr confirm [plan digest]"),
        ("/ab-test demo explain", "/ab-test demo explain <row>"),
        ("/ab-test demo auto", "/ab-test demo auto on|off"),
        ("/ab-test help me", "/ab-test help"),
        ("/ab-test rig cancel now", "/ab-test rig cancel"),
    ] {
        assert_eq!(refused(line).complete_line.as_deref(), Some(instead), "{line}");
    }
    let nothing = Known::default();
    let error = read("/ab-test", &nothing).unwrap_err();
    assert_eq!((error.code, error.complete_line.as_deref()), (Code::MissingArgument, Some("/ab-test help")));
    assert_eq!(read("/ab-test cancel", &nothing).unwrap_err().complete_line, None);
}
