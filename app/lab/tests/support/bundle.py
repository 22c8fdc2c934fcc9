"""The files of a bundle by the rules of the official client: REPOSITORY COMMIT BUNDLE."""

import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

repository, commit, bundle = sys.argv[1:]
never = r"\.mov$|\.pyc$|\.egg-info(/|$)|(^|/)__pycache__(/|$)|(^|/)\.git(/|$)|(^|/)gha-creds-[^/]+\.json$" \
    r"|(^|/)\.(mypy_cache|pytest_cache|ruff_cache|venv)(/|$)|(^|/)(node_modules|venv|target)(/|$)|\.so$"
rarely = never + r"|(^|/)(docs|tests|journeys-out)(/|$)|(^|/)\.(agents|claude|codex|github)(/|$)" \
    r"|(^|/)(AGENTS|TESTING|OPS)\.md$|\.ipynb$"
tar = subprocess.run(["git", "archive", commit], cwd=repository, capture_output=True, check=True).stdout
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        opened.extractall(folder)
        modes = {member.name: 0o755 if member.mode & 0o100 else 0o644 for member in opened if member.isfile()}
    config = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["iris"]["bundle"]
    everything = {path for path in folder.rglob("*") if path.is_file()}

    def name(path):
        return path.relative_to(folder).as_posix()

    files = {path for path in everything if not re.search(rarely, name(path))}
    for pattern in config["include"]:
        files |= {path for path in folder.glob(pattern) if path.is_file() and not re.search(never, name(path))}
    files = {path for path in files if not any(re.search(pattern, name(path)) for pattern in config["exclude"])}
    expected = {name(path): path.read_bytes() for path in files}
with zipfile.ZipFile(bundle) as opened:
    assert opened.testzip() is None
    infos = opened.infolist()
    found = {info.filename: opened.read(info) for info in infos}
    assert len(infos) == len(found)
    for info in infos:
        assert info.date_time == (1980, 1, 1, 0, 0, 0) and info.create_system == 3, info
        assert info.external_attr >> 16 == 0o100000 | modes[info.filename], info
assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
assert found == expected
print(len(found), "of", len(everything))
