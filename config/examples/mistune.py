"""One step of the benchmark of mistune, a Markdown renderer; stands as bench.py at the top of the repository.

    python3 bench.py start|guide|comments|changelog|hostile

The texts are made here and always the same, so that both commits get the same input. The last line that is printed
counts the work: the elements of HTML that came out, and the bytes of Markdown that went in. Elements are counted in the
output, because a release that drops half of a document is faster and no improvement.
"""

import json
import pathlib
import sys

import mistune

SECTION = """
## Section {i}

Some *text* with **strong** words, `code`, a [link](https://example.com/{i} "title") and <https://example.com/{i}>.
The second line has an ![image](figure-{i}.png) and an escaped \\* star.

- first
- second with `code`
  - nested *here*

1. one
2. two

> quoted **text**

```python
print({i})
```
"""

COMMENT = "Thanks! I tried `v{i}`, see [the log](https://example.com/{i}):\n\n- it *works*\n- it is **fast**\n"

VERSION = """
## Version {i}

- Fix `parse_{i}` for empty lines, via [#{i}][i{i}]
- Add *option* `o{i}`
- Remove the old names:
  - `a{i}`
  - `b{i}`

[i{i}]: https://example.com/issues/{i}
"""


def start():
    """One line: hardly more than starting Python, compiling the package and importing it."""
    return ["Hello *world*\n"]


def guide():
    """A manual of 400 sections in one document, eighteen times."""
    return ["# Guide\n" + "".join(SECTION.format(i=i) for i in range(400))] * 18


def comments():
    """Short comments, each a document of its own."""
    return [COMMENT.format(i=i) for i in range(18_000)]


def changelog():
    """Nested lists and reference links: 300 versions in one document, forty times."""
    return ["# Changes\n" + "".join(VERSION.format(i=i) for i in range(300))] * 40


def hostile():
    """What somebody may paste into a comment field: brackets that nothing closes."""
    return ["[x " * 40 + "\n"] * 10_000


def elements(html):
    return html.count("</") + html.count(" />")


def main():
    here = pathlib.Path(__file__).resolve().parent
    if pathlib.Path(mistune.__file__).resolve().parent.parent != here:
        sys.exit(f"mistune comes from {mistune.__file__}, not from {here}")
    steps = {step.__name__: step for step in (start, guide, comments, changelog, hostile)}
    if len(sys.argv) != 2 or sys.argv[1] not in steps:
        sys.exit(f"name one step: {', '.join(steps)}")
    documents = steps[sys.argv[1]]()
    made = sum(elements(mistune.html(text)) for text in documents)
    print(json.dumps({"items": made, "bytes": sum(len(text.encode()) for text in documents)}))


main()
