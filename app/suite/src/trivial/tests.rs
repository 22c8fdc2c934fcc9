//! What counts as the same, and what must not.

use proptest::prelude::*;

use super::tokens::{Kind, tokens};
use super::{Changes, Sameness, What, is_documentation, python};

fn same(old: &str, new: &str) -> Vec<What> {
    match python(old, new) {
        Sameness::Same(what) => what,
        other => panic!("{other:?}\n{old}\n{new}"),
    }
}

#[test]
fn what_does_not_count() {
    use What::{Comments, Docstrings, Layout, LogText, Types};
    let table: &[(&str, &str, &[What])] = &[
        ("x = 1\n", "x = 1  # one\n", &[Comments]),
        ("x = 1\n", "# a\n\n\tx = 1\n".trim_start_matches("# a\n\n\t"), &[Layout]),
        ("x = 1\n", "x = 1", &[Layout]),
        ("x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n", &[Layout]),
        ("\u{feff}x = 1\n", "x = 1\n", &[Layout]),
        ("x = (1 +\n  2)\n", "x = (1 + 2)\n", &[Layout]),
        ("x = 1 + \\\n  2\n", "x = 1 + 2\n", &[Layout]),
        ("if a:\n    b\n", "if a:\n  b\n", &[Layout]),
        ("if a:\n\tb\n", "if a:\n    b\n", &[Layout]),
        ("\u{c}\nx = 1\n", "x = 1\n", &[Layout]),
        ("x: int = 1\n", "x = 1\n", &[Types]),
        ("x: int = 1  # type: ignore\n", "x: float = 1\n", &[Comments, Types]),
        ("x: int\ny = 1\n", "y = 1\n", &[Types]),
        ("self.a[1:2].b: int = 3\n", "self.a[1:2].b = 3\n", &[Types]),
        ("\"doc\"\nx = 1\n", "x = 1\n", &[Docstrings]),
        ("'''a\n# b\n'''\nx = 1\n", "\"c\" 'd'\nx = 1\n", &[Docstrings]),
        (
            "def f(a, b=1):\n    return a\n",
            "def f(a: int, b: str = 1) -> list[int]:\n    \"doc\"\n    return a\n",
            &[Docstrings, Types],
        ),
        ("async def f(*a, **k): pass\n", "async def f(*a: *Ts, **k: 'K') -> None: pass\n", &[Types]),
        ("def f(a=lambda x, y: x, b=1): pass\n", "def f(a=lambda x, y: x, b: int = 1): pass\n", &[Types]),
        (
            "def f(a={1: 2}, b=x[1:2], /, c=1, *, d): pass\n",
            "def f(a={1: 2}, b: int = x[1:2], /, c=1, *, d: int): pass\n",
            &[Types],
        ),
        ("def f[T: int](a): pass\n", "def f[T: int](a: T) -> T | None: pass\n", &[Types]),
        ("class A:\n    x = 1\n", "class A:\n    x: int = 1\n", &[Types]),
        ("class A(object):\n    'a'\n    x = 1\n", "class A(object):\n    x = 1\n", &[Docstrings]),
        ("class A(B):\n    def f(self, x): pass\n", "class A(B):\n    def f(self, x: int): pass\n", &[Types]),
        ("@property\ndef f(self): pass\n", "@property\ndef f(self) -> int: pass\n", &[Types]),
        ("def f():\n    x: int\n", "def f():\n    x: str\n", &[Types]),
        ("logger.info('a', x)\n", "logger.info('b %s', y.z)\n", &[LogText]),
        ("self._log.warning('a')\n", "self._log.warning('b', exc_info=True)\n", &[LogText]),
        ("logging.error(f'a {x} {y:>{w}}')\n", "logging.error(f'b{x}, {y:>{w}}!')\n", &[LogText]),
        ("match: int = 1\n", "match = 1\n", &[Types]),
        ("match x:\n    case [1, *_]: pass\n", "match x:\n    case [1, *_]: pass  # a\n", &[Comments]),
        ("type X[T] = list[T]\n", "type X[T] = list[T] # a\n", &[Comments]),
        ("#!/bin/a\nx = 1\n", "#!/bin/a\n#b\nx = 1\n", &[Comments]),
        ("# -*- coding: utf-8 -*-\nx\n", "# -*- coding: utf-8 -*-\nx  # a\n", &[Comments]),
    ];
    for (old, new, what) in table {
        assert_eq!(same(old, new), *what, "{old}\n{new}");
        assert_eq!(same(new, old), *what, "{new}\n{old}");
    }
}

fn counts(old: &str, new: &str) {
    assert!(!matches!(python(old, new), Sameness::Same(_)), "{old}\n{new}");
    assert!(!matches!(python(new, old), Sameness::Same(_)), "{new}\n{old}");
}

#[test]
fn what_counts() {
    for (old, new) in [
        ("x = 1\n", "x = 2\n"),
        ("x = '# a'\n", "x = '# b'\n"),
        ("x = '''\n# a\n'''\n", "x = '''\n# b\n'''\n"),
        ("x = f'{a}'\n", "x = f'{b}'\n"),
        ("x = f'{a}#{b}'\n", "x = f'{a}#{c}'\n"),
        ("x = f'{f\"{f'{a}'}\"}'\n", "x = f'{f\"{f'{b}'}\"}'\n"),
        ("x = f'''{\n'a'}'''\n", "x = f'''{\n'b'}'''\n"),
        ("x = rb'\\'#'\n", "x = rb'\\'#b'\n"),
        ("x = 'a' 'b'\n", "x = 'a'\n"),
        ("x = 1\n'a'\n", "x = 1\n'b'\n"),
        ("'a'\n'b'\nx = 1\n", "'a'\n'c'\nx = 1\n"),
        ("b'a'\nx = 1\n", "b'b'\nx = 1\n"),
        ("f'a'\nx = 1\n", "f'b'\nx = 1\n"),
        ("'a'; x = 1\n", "'b'; x = 1\n"),
        ("def f(): 'a'\n", "def f(): 'b'\n"),
        ("if a:\n    'a'\n", "if a:\n    'b'\n"),
        ("'a'\nprint(__doc__)\n", "'b'\nprint(__doc__)\n"),
        ("if a:\n    b\nc\n", "if a:\n    b\n    c\n"),
        ("if a:\n    b\n", "if a: b\n"),
        ("x = {a: b}\n", "x = {a: c}\n"),
        ("x = a[b:c]\n", "x = a[b:d]\n"),
        ("x = lambda a: b\n", "x = lambda a: c\n"),
        ("lambda: a\n", "lambda: b\n"),
        ("f(lambda a: b)\n", "f(lambda a: c)\n"),
        ("def f(a=lambda x, y: z): pass\n", "def f(a=lambda x, y: w): pass\n"),
        ("def f(a=lambda x, y: z, b: int = 1): pass\n", "def f(a=lambda x, y: w, b: int = 1): pass\n"),
        ("(x := 1)\n", "(x := 2)\n"),
        ("def f(a: int = 1): pass\n", "def f(a: int = 2): pass\n"),
        ("def f(a, *, b): pass\n", "def f(a, b): pass\n"),
        ("def f(a, /, b): pass\n", "def f(a, b): pass\n"),
        ("def f(a: g() = 1): pass\n", "def f(a: h() = 1): pass\n"),
        ("def f(a: Annotated[int, g(1)]): pass\n", "def f(a: Annotated[int, g(2)]): pass\n"),
        ("def f() -> g(1): pass\n", "def f() -> g(2): pass\n"),
        ("x: g() = 1\n", "x = 1\n"),
        ("x: (y := 1) = 1\n", "x: (y := 2) = 1\n"),
        ("def f():\n    x: int\n    return x\n", "def f():\n    return x\n"),
        ("@app.command()\ndef f(a: int): pass\n", "@app.command()\ndef f(a: str): pass\n"),
        ("@property\n@ray.remote\ndef f(a: int): pass\n", "@property\n@ray.remote\ndef f(a: str): pass\n"),
        ("@dataclass\nclass A:\n    x: int\n", "@dataclass\nclass A:\n    x: str\n"),
        ("class A(BaseModel):\n    x: int = 1\n", "class A(BaseModel):\n    x: str = 1\n"),
        ("class A(NamedTuple):\n    x: int\n", "class A(NamedTuple):\n    x: str\n"),
        ("class A(metaclass=M):\n    x: int\n", "class A(metaclass=M):\n    x: str\n"),
        ("class A[T]:\n    x: int\n", "class A[T]:\n    x: str\n"),
        ("class A(TypedDict):\n    if a:\n        x: int\n", "class A(TypedDict):\n    if a:\n        x: str\n"),
        ("def f(a: int): pass\nget_type_hints(f)\n", "def f(a: str): pass\nget_type_hints(f)\n"),
        ("def f[T: int](a): pass\n", "def f[T: str](a): pass\n"),
        ("type X = int\n", "type X = str\n"),
        ("match x:\n    case 1: y = 2\n", "match x:\n    case 2: y = 2\n"),
        ("match x:\n    case {'a': b}: pass\n", "match x:\n    case {'a': c}: pass\n"),
        ("case[a:b](x)\n", "case[a:c](x)\n"),
        ("logger.info('a')\n", "logger.warning('a')\n"),
        ("logger.info('a')\n", "pass\n"),
        ("logger.info('a', f(x))\n", "logger.info('b', f(x))\n"),
        ("logger.info(f'a {x}')\n", "logger.info(f'a {y}')\n"),
        ("logger.info(f'a {f(x)}')\n", "logger.info(f'a {g(x)}')\n"),
        ("logger.info('a')\n", "logger.info(f'a{x}')\n"),
        ("logger.info('a', [x for x in y])\n", "logger.info('b', [x for x in y])\n"),
        ("logger.info('a', (x := 1))\n", "logger.info('b', (x := 1))\n"),
        ("logger.info('a', await x)\n", "logger.info('b', await x)\n"),
        ("logger.info('a' % x)\n", "logger.info('b' % x)\n"),
        ("logger.info('a', x[1])\n", "logger.info('a', x[2])\n"),
        ("logger.info('a', -x)\n", "logger.info('a', -y)\n"),
        ("logger.info('a').b('c')\n", "logger.info('a').b('d')\n"),
        ("x = logger.info('a')\n", "x = logger.info('b')\n"),
        ("warnings.warn('a')\n", "warnings.warn('b')\n"),
        ("logger().info('a')\n", "logger().info('b')\n"),
        ("print('a')\n", "print('b')\n"),
        ("math.log('a')\n", "math.log('b')\n"),
        ("#!/bin/a\nx\n", "#!/bin/b\nx\n"),
        ("#!/bin/a\nx\n", "#!/bin/a\r\nx\n"),
        ("# coding: utf-8\nx\n", "# coding: ascii\nx\n"),
        ("1if x else 2\n", "1if x else 3\n"),
        ("x = 'a'\n", "x = \"a\"\n"),
        ("x = 1\n", "x = 1;\n"),
        ("x = 1\n", ""),
    ] {
        counts(old, new);
    }
}

#[test]
fn what_python_does_not_read_any_more_counts() {
    for (old, new) in [
        ("def f(a) -> int: pass\n", "def f(a) -> int float: pass\n"),
        ("def f(a): pass\n", "def f(a: int[]): pass\n"),
        ("def f(a): pass\n", "def f(a: list[int): pass\n"),
        ("def f(a): pass\n", "def f(a: .b): pass\n"),
        ("def f(a): pass\n", "def f(a: *b): pass\n"),
        ("def f(**a): pass\n", "def f(**a: *b): pass\n"),
        ("def f(a): pass\n", "def f(a: 'b' | None): pass\n"),
        ("def f(a) -> int: pass\n", "def f(a) ->: pass\n"),
        ("x = 1\n", "x: int, = 1\n"),
        ("'a'\nx = 1\n", "'a\\xg'\nx = 1\n"),
        ("'a'\nx = 1\n", "'\\N{NOTHING}'\nx = 1\n"),
        ("'a'\nx = 1\n", "'\\U00110000'\nx = 1\n"),
        ("logger.info('a')\n", "logger.info('a' b)\n"),
        ("logger.info('a')\n", "logger.info('a',, b)\n"),
        ("logger.info('a')\n", "logger.info(a.)\n"),
        ("logger.info('a')\n", "logger.info(b=1, 'a')\n"),
        ("logger.info('a')\n", "logger.info('a', b=1, b=2)\n"),
        ("logger.info('a')\n", "logger.info('a' b'b')\n"),
        ("logger.info('a')\n", "logger.info('\\u12')\n"),
        ("logger.info(f'a{x}')\n", "logger.info(f'b{x}}')\n"),
        ("def f():\n    global x\n    x = 1\n", "def f():\n    global x\n    x: int = 1\n"),
    ] {
        counts(old, new);
    }
}

#[test]
fn what_cannot_be_read_is_not_the_same() {
    for text in [
        "x = 'a\n",
        "x = '''a\n",
        "x = (1\n",
        "x = 1)\n",
        "x = (1]\n",
        "x = $\n",
        "x = a?b\n",
        "x = `a`\n",
        "x = 1 \\ 2\n",
        "x = 1 \\",
        "  x\n y\n",
        "if a:\n        b\n\tc\n  d\n",
        "if a:\n\tb\n        c\n",
        "x = f'{'\n",
        "x = f'{}'\n",
        "x = f'{a'\n",
        "x = f'{a:'\n",
        "x = f'{a # b}'\n",
        "x = f'{a!}{'\n",
        "x = f'}'\n",
        "x\0 = 1\n",
        "# coding: utf-7\nx = 1\n",
        "\n# vim: fileencoding=latin-1\nx = 1\n",
        "x = 1__a\n",
        "x = 0x1g\n",
        "x = \u{a0}1\n",
        "x = 1\u{b}\n",
        "\\\nx = 1\n",
    ] {
        assert!(matches!(python(text, text), Sameness::Unsure(_)), "{text:?} {:?}", python(text, text));
    }
    assert!(matches!(python("x = 1\n", "x = '\n"), Sameness::Unsure(_)));
    let deep = format!("x = {}{}\n", "(".repeat(10_000), ")".repeat(10_000));
    assert!(matches!(python(&deep, &deep), Sameness::Unsure(_)));
    let nested = format!("x = {}1{}\n", "f'{".repeat(10_000), "}'".repeat(10_000));
    assert!(matches!(python(&nested, &nested), Sameness::Unsure(_)));
}

#[test]
fn tokens_of_a_line() {
    let read = |text: &str| -> Vec<(Kind, String)> {
        tokens(text).unwrap().all.iter().map(|token| (token.kind, token.text.to_owned())).collect()
    };
    let shown = |text: &str| read(text).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ");
    assert_eq!(shown("x**=1.5e-3j//0xF_f>>.5+1..real"), "x **= 1.5e-3j // 0xF_f >> .5 + 1. . real ");
    assert_eq!(shown("a:=b->c...!=d@=~e"), "a := b -> c ... != d @= ~ e ");
    assert_eq!(shown("Rb'\\'' uR f'{x!r:>{w}} {{' u\"\""), "Rb'\\'' uR f'{x!r:>{w}} {{' u\"\" ");
    assert_eq!(shown("f'\\N{DASH}{a}' rf'\\{a}'"), "f'\\N{DASH}{a}' rf'\\{a}' ");
    assert_eq!(
        shown("f'{a[\"b\"]}' f'{x:%H:%M}' f'{x=}' f\"{d['a']!s}\""),
        "f'{a[\"b\"]}' f'{x:%H:%M}' f'{x=}' f\"{d['a']!s}\" "
    );
    assert_eq!(read("t'{a}'")[0].0, Kind::Format);
    assert_eq!(read("naïve = 1")[0], (Kind::Name, "naïve".to_owned()));
}

#[test]
fn documentation() {
    for yes in ["README.md", "CHANGES.rst", "docs/a.txt", "lib/x/docs/a/b.md", "lib/x/README.md", "doc/x.rst"] {
        assert!(is_documentation(yes), "{yes}");
    }
    for no in
        ["data/page.md", "requirements.txt", "lib/prompts/a.md", "docs/conf.py", "README", "mydocs/a.txt", "x.mdx"]
    {
        assert!(!is_documentation(no), "{no}");
    }
}

#[test]
fn in_words() {
    let mut changes = Changes::default();
    assert!(changes.reasons().is_empty());
    changes.documentation();
    changes.ignored(None);
    changes.file(vec![What::Comments, What::Docstrings], "lib/x.py");
    assert_eq!(
        changes.reasons(),
        ["1 documentation file", "1 file that the suite ignores", "comments, docstrings in lib/x.py"]
    );
    changes.documentation();
    changes.ignored(Some("generated"));
    for (what, path) in [(What::LogText, "a\nb.py"), (What::Types, "c"), (What::Types, "d"), (What::Comments, "e")] {
        changes.file(vec![what], path);
    }
    assert_eq!(
        changes.reasons(),
        [
            "2 documentation files",
            "2 files that the suite ignores (generated)",
            "comments, docstrings in lib/x.py",
            "log text in a?b.py",
            "types in c",
            "comments, types in 2 more files",
        ]
    );
}

/// Lines of a file with something of everything; none of it is left out of the comparison.
const SAMPLE: &str = "import os, sys\nfrom a import (b,\n    c)\nX = {1: 'a#b', **d}[x:y]\nasync def f(a, *b, c=lambda q, r: q + 1, **d):\n    \
with open(os.path) as g, h:\n        async for i in j(f'{i!r:>{w}} {{'):\n            yield i if i else k\n    return [l for l in m if (n := l)]\n\
@deco.rate(1)\nclass A(B, metaclass=C):\n    x: int = 3\n    def g(self):\n        logger.info(b(1), 'x')\n        try:\n            \
del x\n        except (E, F) as e:\n            raise G from e\nmatch x:\n    case [1, *r] if r: pass\n    case {'k': v}: assert v, 'no'\n\
z = a if b else -c ** 2 // 3 @ e << 1; print(z)\n";

fn insertions() -> impl Strategy<Value = Vec<(usize, String)>> {
    proptest::collection::vec((0..1000_usize, "[ -~äß'\"{}#\\\\]{0,12}"), 0..6)
}

proptest! {
    #[test]
    fn comments_never_count(insertions in insertions()) {
        let mut lines: Vec<String> = SAMPLE.lines().map(str::to_owned).collect();
        for (at, text) in &insertions {
            let at = at % lines.len();
            lines[at].push_str("  #");
            lines[at].push_str(&text.replace("coding", ""));
        }
        let new = lines.join("\n");
        prop_assert!(matches!(python(SAMPLE, &new), Sameness::Same(_)), "{new}");
    }

    #[test]
    fn docstrings_never_count(doc in "[ -~äß#{}\n]{0,40}") {
        let doc = doc.replace(['\\', '"'], "");
        let file = |doc: &str| format!("r\"\"\"{doc}\"\"\"\ndef f():\n    \"\"\"{doc}\"\"\"\n    return 1\nclass A(B):\n    u\"\"\"{doc}\"\"\"\n    x = 2\n");
        prop_assert!(matches!(python(&file("a"), &file(&doc)), Sameness::Same(_)));
    }

    #[test]
    fn any_other_token_counts(at in 0..1000_usize, other in "[a-z]{9}|[0-9]{5}|'[a-z]{9}'|==|\\*\\*") {
        let all = tokens(SAMPLE).unwrap().all;
        let visible: Vec<&str> = all.iter().map(|token| token.text).filter(|text| !text.is_empty()).collect();
        let old = visible[at % visible.len()];
        prop_assume!(old != other);
        let place = old.as_ptr() as usize - SAMPLE.as_ptr() as usize;
        let new = format!("{} {other} {}", &SAMPLE[..place], &SAMPLE[place + old.len()..]);
        prop_assert!(!matches!(python(SAMPLE, &new), Sameness::Same(_)), "{old} -> {other}\n{new}");
        let gone = format!("{} {}", &SAMPLE[..place], &SAMPLE[place + old.len()..]);
        prop_assert!(!matches!(python(SAMPLE, &gone), Sameness::Same(_)), "{old}\n{gone}");
    }

    #[test]
    fn nothing_panics(old in "\\PC{0,80}", new in "[a-z \t\n\u{c}(){}\\[\\]:=,.'\"#\\\\frb0-9@*!]{0,120}") {
        prop_assert!(!matches!(python(&old, &new), Sameness::Same(_)) || !matches!(python(&new, &old), Sameness::Different));
        prop_assert!(!matches!(python(&new, &new), Sameness::Different));
    }
}
