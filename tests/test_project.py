"""The repository around the package: automation calls what there is, tools that are declared are used, references are whole."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from benchmarks import project

ROOT = Path(__file__).resolve().parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][\w-]*(?: [a-z][\w-]*)*):(?! export)", MAKEFILE, re.MULTILINE))
TARGETS = {name for names in TARGETS for name in names.split()}


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a clone: which files are the repository's is not known here")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="ignore")


def commands(workflow: Path) -> list[str]:
    """Every command of a workflow, once for each value of its matrix."""
    found = []
    for job in yaml.safe_load(text_of(workflow))["jobs"].values():
        wanted = job.get("strategy", {}).get("matrix", {}).get("target", [""])
        for step in job["steps"]:
            found += [step["run"].replace("${{ matrix.target }}", one) for one in wanted if "run" in step]
    return found


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_only_targets_that_exist(workflow: Path) -> None:
    for command in set(commands(workflow)):
        program, *words = command.split()
        assert program == "make", f"{workflow.name} does what `make` does not: {command}"
        asked = [word for word in words if "=" not in word]
        assert asked and set(asked) <= TARGETS, f"{workflow.name} asks for {command}"


def test_every_target_that_checks_is_run_by_a_workflow() -> None:
    run = {word for workflow in WORKFLOWS for command in commands(workflow) for word in command.split()}
    by_hand = {"install", "demo", "reproduce", "clean", "soak"}  # soak: an hour, before a release
    parts = {
        "lint",
        "docs",
        "unit",
        "coverage-floor",
        *(name for name in TARGETS if name.startswith("interoperability-")),
    }
    assert TARGETS - run - by_hand - parts == set()


def test_targets_that_documents_name_exist() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for name in re.findall(r"`make ([a-z][\w-]*)", text_of(page)):
            assert name in TARGETS, f"{page.name} names `make {name}`"


def test_tools_that_are_declared_are_used() -> None:
    """What the tests' and linters' environments bring is named by some file beside the one that declares it."""
    extras = PYPROJECT["project"]["optional-dependencies"]
    declared = {re.split(r"[\[>=<]", one)[0] for name in ("test", "docs", "peers") for one in extras[name]}
    groups = PYPROJECT["dependency-groups"]
    declared |= {
        re.split(r"[\[>=<]", one)[0] for name in groups for one in groups[name] if isinstance(one, str)
    }
    # Used by name of a command, of an option or of what it types.
    alias = {
        "myst-parser": "myst_parser",
        "pytest-xdist": "-n 2",
        "import-linter": "lint-imports",
        "pandas-stubs": "pandas",
    }
    alias |= {"pydata-sphinx-theme": "pydata_sphinx_theme", "badac": "badac"}
    alias |= {"sphinx": "sphinx-build", "sphinx-gallery": "sphinx_gallery", "sphinx-design": "sphinx_design"}
    alias |= {"sphinx-copybutton": "sphinx_copybutton"}
    skipped = {"pyproject.toml", "CHANGELOG.md", Path(__file__).name}
    everything = "\n".join(
        text_of(path) for path in tracked() if path.name not in skipped and path.suffix != ".json"
    )
    unused = sorted(name for name in declared if alias.get(name, name) not in everything)
    assert not unused


def test_a_linter_has_one_version() -> None:
    """What `make lint` finds is what pre-commit finds."""
    said = {one for one in PYPROJECT["dependency-groups"]["lint"] if one.startswith("ruff")}
    said |= {one for one in PYPROJECT["project"]["optional-dependencies"]["test"] if one.startswith("ruff")}
    hooks = yaml.safe_load(text_of(ROOT / ".pre-commit-config.yaml"))["repos"]
    said |= {f"ruff=={hook['rev'].removeprefix('v')}" for hook in hooks if "ruff" in hook["repo"]}
    assert len(said) == 1


def test_extras_that_are_named_exist() -> None:
    extras = set(PYPROJECT["project"]["optional-dependencies"])
    for path in tracked():
        if path.suffix in {".py", ".md", ".toml", ".yml"} or path.name == "Makefile":
            for named in re.findall(r"badac\\*\[([a-z, ]+)\\*\]", text_of(path)):
                assert set(named.replace(" ", "").split(",")) <= extras, f"{path.name} names badac[{named}]"


def test_nothing_is_tracked_and_ignored() -> None:
    tracked()
    ignored = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ignored.stdout == ""


def test_folders_that_the_guides_list_exist() -> None:
    places = re.compile(r"`((?:src|tests|docs|examples|benchmarks|reproduction)/[\w/.-]*)`")
    # What a reader of the guide is told to write.
    to_write = {"src/badac/noise/laplace.py", "tests/noise/test_laplace.py"}
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for place in places.findall(text_of(page)):
            assert place in to_write or (ROOT / place).exists(), f"{page.name} lists {place}"


def test_the_version_has_one_place() -> None:
    import badac

    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert yaml.safe_load(text_of(ROOT / "CITATION.cff"))["version"] == badac.__version__
    assert f"version = {{{badac.__version__}}}" in text_of(ROOT / "docs" / "citing.md")


# References


def bibliography() -> dict[str, dict[str, str]]:
    entries = re.findall(r"@\w+\{([^,]+),(.*?)\n\}", text_of(ROOT / "paper.bib"), re.DOTALL)
    return {key: dict(re.findall(r"(\w+) = \{(.*)\}", body)) for key, body in entries}


def test_the_paper_cites_what_the_bibliography_holds() -> None:
    cited = set(re.findall(r"@([A-Za-z]+(?::\d{4})?)", text_of(ROOT / "paper.md").split("# Summary")[1]))
    assert cited == set(bibliography())


@pytest.mark.parametrize("key", bibliography())
def test_an_entry_of_the_bibliography_is_whole(key: str) -> None:
    entry = bibliography()[key]
    assert {"author", "title", "journal", "year"} <= set(entry)
    assert ("volume" in entry and "pages" in entry) or "eprint" in entry
    if ":" in key:
        first, year = key.split(":")
        assert entry["author"].startswith(first) and entry["year"] == year


def test_works_that_the_theory_page_names_are_listed_there_and_the_other_way_round() -> None:
    text, listed = text_of(ROOT / "docs" / "theory.md").split("## References")
    text = text.replace("\n", " ")
    works = re.findall(r"^- (.+?)(?:,| &).*?(?<!\d)((?:19|20)\d\d)(?!\d)", listed, re.MULTILINE)
    assert len(works) > 15
    for first, year in works:
        if first != "Kessler":  # the data of another page, which names it
            assert re.search(rf"{first}\b[^;:]*?{year}", text), f"{first} {year} is listed and not named"
    for first, year in re.findall(
        r"([A-Z][\w]+)(?:, [\w ]+)*(?:,? &| and| et al\.)[^();]{0,30}?\(?((?:19|20)\d\d)\)?", text
    ):
        assert any(
            year == other and first in line
            for line in listed.splitlines()
            for other in re.findall(r"\d{4}", line)
        ), f"{first} {year} is named and not listed"


# What the targets of a release record


def report(folder: Path, name: str, commit: str, **cases: str) -> None:
    """Write a report of pytest with the tests named, each ended as said, and the commit beside it."""
    inside = {"passed": "", "failed": "<failure/>", "error": "<error/>", "skipped": "<skipped/>"}
    tests = "".join(
        f'<testcase classname="a" name="{key}">{inside[how]}</testcase>' for key, how in cases.items()
    )
    xml = f'<testsuites><testsuite time="30">{tests}</testsuite></testsuites>'
    (folder / f"{name}.xml").write_text(xml, encoding="utf-8")
    (folder / f"{name}.commit").write_text(f"{commit}\n", encoding="utf-8")


def test_a_row_of_tests_adds_up_the_pieces_of_a_run(tmp_path: Path) -> None:
    report(tmp_path, "a", "1234567", one="passed", two="failed", three="skipped")
    report(tmp_path, "b", "1234567", four="error", five="passed")
    row = project.tests_row("wheel", sorted(tmp_path.glob("*.xml")))
    assert row[0] == "`make wheel`" and row[3:] == ["1234567", "2", "1", "2", "1.0"]
    assert "numpy" in row[2]


def test_a_test_that_was_run_again_counts_as_it_ended_last_and_its_commit_is_named(tmp_path: Path) -> None:
    report(tmp_path, "z", "1234567", one="passed", two="failed", three="passed")
    os.utime(tmp_path / "z.xml", (0, 0))
    report(tmp_path, "again", "89abcde", two="passed")
    row = project.tests_row("wheel", sorted(tmp_path.glob("*.xml")))
    assert row[3:7] == ["1234567, 1 on 89abcde", "3", "0", "0"]


def test_a_row_of_tests_stands_for_its_version_of_python() -> None:
    """Those of the wheel for 3.11 took the place of those for 3.12."""
    old = [["`make wheel`", "3.11.7", "numpy 2.1", "1"], ["`make wheel`", "3.12.1", "numpy 2.1", "2"]]
    new = ["`make wheel`", "3.12.4", "numpy 2.5", "3"]
    assert project.with_row("tests", old, new) == [old[0], new]
    assert project.with_row("step", [["1 clone", "4.6"]], ["1 clone", "4.1"]) == [["1 clone", "4.1"]]


def test_what_is_kept_of_the_targets_stands_on_the_page() -> None:
    page = text_of(project.PAGE)
    for place, table in project.places(project.read()).items():
        assert f"<!-- {place} -->\n{table}\n<!-- end {place} -->" in page, "run python -m benchmarks.project"
