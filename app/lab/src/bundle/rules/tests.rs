use super::*;

fn kept(rules: &Rules, paths: &[&str]) -> Vec<String> {
    paths.iter().filter(|path| rules.keeps(path)).map(|path| (*path).to_owned()).collect()
}

fn error(project: &str) -> String {
    Rules::read(project.as_bytes()).unwrap_err().to_string()
}

const NEVER_PATHS: &[&str] = &[
    "a.mov",
    "x/a.pyc",
    "a.egg-info",
    "x/a.egg-info/PKG-INFO",
    "__pycache__/x",
    "x/__pycache__/y",
    ".git/config",
    "x/.git",
    "gha-creds-0f.json",
    "x/gha-creds-a.json",
    ".mypy_cache/x",
    "x/.pytest_cache/y",
    ".ruff_cache",
    ".venv/bin/python",
    "x/node_modules/y/z.js",
    "venv/x",
    "target/debug/x",
    "x/target",
    "x/y.so",
];

const RARELY_PATHS: &[&str] = &[
    "docs/a.md",
    "x/docs",
    "tests/a.py",
    "x/tests/y/z.py",
    ".agents/x",
    ".claude/x",
    "x/.codex/y",
    ".github/workflows/x.yml",
    "AGENTS.md",
    "x/TESTING.md",
    "OPS.md",
    "x/a.ipynb",
    "journeys-out/x.png",
];

const KEPT_PATHS: &[&str] = &[
    "a.mov.txt",
    "a.pyc2",
    "egg-info/x",
    "a.egg-infos/x",
    "x__pycache__/y",
    ".gitignore",
    ".gitmodules",
    "gha-creds-.json",
    "gha-creds-a.json/x",
    "xgha-creds-a.json",
    ".venv2/x",
    "targets/x",
    "my-target",
    "x.so.1",
    "x.so/y",
    "doc/x",
    "test/x",
    "tests.py",
    ".github.md",
    "AGENTS.md/x",
    "XAGENTS.md",
    "agents.md",
    "Tests/x",
    "a.ipynb/x",
    "src/iris/rpc/a_pb2.py",
];

#[test]
fn what_is_left_out() {
    let rules = Rules::default();
    assert_eq!(kept(&rules, NEVER_PATHS), [""; 0]);
    assert_eq!(kept(&rules, RARELY_PATHS), [""; 0]);
    assert_eq!(kept(&rules, KEPT_PATHS), KEPT_PATHS);
}

#[test]
fn includes_bring_back_what_is_rarely_needed_alone() {
    let rules = Rules::read(b"[tool.iris.bundle]\ninclude = ['**/*']").unwrap();
    assert_eq!(kept(&rules, NEVER_PATHS), [""; 0]);
    assert_eq!(kept(&rules, RARELY_PATHS), RARELY_PATHS);
    // An exclude of the repository beats its include.
    let rules = Rules::read(b"[tool.iris.bundle]\ninclude = ['**/*']\nexclude = ['^docs/', 'z\\.py$']").unwrap();
    assert_eq!(kept(&rules, RARELY_PATHS), [&RARELY_PATHS[1..3], &RARELY_PATHS[4..]].concat());
}

#[test]
fn globs_are_those_of_python() {
    for (glob, path, matches) in [
        ("tests/*.py", "tests/a.py", true),
        ("tests/*.py", "tests/x/a.py", false),
        ("tests/*.py", "x/tests/a.py", false),
        ("tests/**/*.py", "tests/a.py", true),
        ("tests/**/*.py", "tests/x/y/a.py", true),
        ("tests/**", "tests/x/y/a.py", true),
        ("**/tests/*", "tests/a.py", true),
        ("**/tests/*", "x/y/tests/a.py", true),
        ("**.py", "tests.py", true),
        ("tests/**.py", "tests/a.py", true),
        ("tests/**.py", "tests/x/a.py", false),
        ("./tests//a.py", "tests/a.py", true),
        ("tests/", "tests/a.py", false),
        ("tests", "tests/a.py", false),
        ("tests/*", "tests/.hidden", true),
        ("tests/?.py", "tests/a.py", true),
        ("tests/[ab].py", "tests/a.py", true),
        ("tests/[!ab].py", "tests/a.py", false),
        ("tests/[!ab].py", "tests/c.py", true),
        ("tests/{a,b}.py", "tests/a.py", false),
        ("tests/{a,b}.py", "tests/{a,b}.py", true),
        ("tests/[{}].py", "tests/{.py", true),
        ("tests/[]{].py", "tests/].py", true),
        ("tests/a\\*.py", "tests/a\\b.py", true),
        ("Tests/a.py", "tests/a.py", false),
    ] {
        let pattern = vec![("x".to_owned(), glob.to_owned())];
        assert_eq!(globs(&pattern).unwrap().is_match(path), matches, "{glob} {path}");
    }
}

#[test]
fn other_tables_mean_nothing_here() {
    for project in ["", "[tool]", "[tool.iris]\nx = 1", "[tool.iris.bundle]", "[tool.iris.bundle]\nexclude = []\nx = 1"]
    {
        assert_eq!(kept(&Rules::read(project.as_bytes()).unwrap(), &["a", "docs/a"]), ["a"], "{project}");
    }
}

#[test]
fn flags_and_classes_of_expressions() {
    let rules =
        Rules::read(b"[tool.iris.bundle]\nexclude = ['(?i)readme', '^\\w+\\d$', '(?x) a b # c', 'x{2}']").unwrap();
    let paths = ["README", "x/Readme.md", "caf\u{e9}7", "a-7", "x/ab", "a b", "axxb", "axb"];
    assert_eq!(kept(&rules, &paths), ["a-7", "a b", "axb"]);
}

#[test]
fn what_is_wrong_is_named() {
    let bundle = |text: &str| error(&format!("[tool.iris.bundle]\n{text}"));
    assert_eq!(error("tool = 1"), "pyproject.toml: tool: is no table");
    assert_eq!(error("tool.iris = []"), "pyproject.toml: tool.iris: is no table");
    assert_eq!(error("tool.iris.bundle = 'x'"), "pyproject.toml: tool.iris.bundle: is no table");
    assert_eq!(bundle("exclude = 'x'"), "pyproject.toml: tool.iris.bundle.exclude: is no array of strings");
    assert_eq!(bundle("include = ['x', 1]"), "pyproject.toml: tool.iris.bundle.include[1]: is no string");
    assert_eq!(
        bundle("exclude = ['a', '(?<!x)y']"),
        "pyproject.toml: tool.iris.bundle.exclude[1]: \"(?<!x)y\" is no regular expression of this program: look-around, \
         including look-ahead and look-behind, is not supported"
    );
    for bad in
        ["(a)\\\\1", "a(", "[z-a]", "a{99999}{99999}", "\\\\p{Nope}", "(?P=x)", "\\\\Z", "(((((((a{50}){50}){50})"]
    {
        let said = bundle(&format!("exclude = [\"{bad}\"]"));
        assert!(said.starts_with("pyproject.toml: tool.iris.bundle.exclude[0]: \""), "{bad}: {said}");
    }
    let many = vec!["'\\w{3}'"; 60].join(", ");
    assert!(bundle(&format!("exclude = [{many}]")).contains("exclude: takes more than 1048576 bytes"));
    for bad in ["/etc/*", "", ".", "a/../b", "a[", "[z-a]"] {
        let said = bundle(&format!("include = ['{bad}']"));
        assert!(said.starts_with("pyproject.toml: tool.iris.bundle.include[0]: \""), "{bad}: {said}");
    }
    let many = vec!["'x'"; 201].join(",");
    assert!(bundle(&format!("include = [{many}]")).ends_with("include: has more than 200 elements"));
    assert!(bundle(&format!("exclude = ['{}']", "x".repeat(1001))).ends_with("exclude[0]: has more than 1000 bytes"));
    assert!(error("[tool\nx").starts_with("pyproject.toml: the file: is no TOML: line 1: "), "{}", error("[tool\nx"));
    assert!(error(&format!("a = {}", "[".repeat(200_000))).contains("is no TOML"));
    assert!(error(&" ".repeat((1 << 20) + 1)).ends_with("the file: has more than 1048576 bytes"));
    assert!(Rules::read(b"\xff").unwrap_err().to_string().ends_with("the file: is no UTF-8"));
}
