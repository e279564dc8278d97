"""The script that measures the source tree counts what it says, and follows calls through badac."""

import json

import pytest

from badac import Measurements
from reproduction import tree
from reproduction.walk import follow, walk

FILES = {
    "__init__.py": "",
    "a/__init__.py": "from badac.a.deep.one import Concrete\n",
    "a/deep/__init__.py": "",
    "a/deep/one.py": (
        "from typing import Protocol\n"
        "class Asked(Protocol): ...\n"
        "class Concrete: ...\n"
        "class Other(Concrete): ...\n"
        "def few(a, b, c, d, e, *, f): ...\n"
        "def many(a, b, c, d, e, *, f, g): ...\n"
        "class Holder:\n"
        "    def __init__(self, a, b, c, d, e, f, g): ...\n"
        "    def six(self, a, b, c, d, e, f): ...\n"
        "    @classmethod\n"
        "    def seven(cls, a, b, c, d, e, f, g): ...\n"
    ),
    "b.py": (
        "from elsewhere import Holder\n"
        "from badac.a import deep\n"
        "from badac.a.deep.one import Asked, Concrete, Other\n"
        "KINDS = (Concrete, int)\n"
        "def told(x):\n"
        "    isinstance(x, Asked), isinstance(x, int | str), isinstance(x, Holder)\n"
        "    isinstance(x, Concrete)\n"
        "    isinstance(x, (int, Other)), isinstance(x, Concrete | Other)\n"
        "    isinstance(x, KINDS), isinstance(x, deep.one.Other)\n"
    ),
}


@pytest.fixture
def source(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "badac" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "badac"


def test_what_is_counted(source):
    found = tree.read(source)
    assert found.modules == 5
    assert found.lines == sum(text.count("\n") for text in FILES.values())
    assert [(place.path, place.line) for place in found.isinstances] == [("b.py", n) for n in (7, 8, 8, 9, 9)]
    assert [place.what for place in found.functions] == ["many: 7", "seven: 7"]


def test_imports_into_a_package_come_from_outside_it(source):
    found = tree.read(source)
    assert (found.largest(1), found.largest(2)) == ("badac.a", "badac.a.deep")
    assert [place.path for place in found.imports["badac.a"]] == ["b.py", "b.py"]
    assert [place.path for place in found.imports["badac.a.deep"]] == ["a/__init__.py", "b.py", "b.py"]


def test_the_table_has_what_was_before(source, tmp_path, capsys):
    tree.main(["--src", str(source), "--static", "--json"])
    numbers = json.loads(capsys.readouterr().out)
    (tmp_path / "before.json").write_text(json.dumps(numbers | {"lines": 1234}))
    tree.main(["--src", str(source), "--static", "--list", "--before", str(tmp_path / "before.json")])
    told = capsys.readouterr().out
    assert f"| lines | 1,234 | {numbers['lines']} | 27,000 |" in told
    assert "b.py:7  Concrete" in told


def test_another_tree_is_not_walked_in_the_name_of_this_one(source, capsys):
    tree.main(["--src", str(source), "--json"])
    told = capsys.readouterr()
    assert "Not walked" in told.err
    assert "fit: files" not in json.loads(told.out)
    with pytest.raises(SystemExit):
        tree.main(["--src", str(source / "nowhere")])


def test_a_walk_is_in_the_order_of_first_calls():
    found = follow(lambda: Measurements([[1.0, 2.0]], sigma=0.1).n_points)
    assert found.files[0] == "data/measurements.py"
    assert found.packages == ("data",)
    assert 1 <= found.depth < 6
    assert follow(lambda: None).steps == ()


def test_importing_is_not_calling():
    code = "class A:\n    def f(self): ...\nA().f()\n"
    namespace = {"__name__": "badac.imagined"}
    from reproduction.walk import _ROOT

    module = compile(code, f"{_ROOT}imagined.py", "exec")
    assert follow(lambda: exec(module, namespace)).steps == ()
    assert follow(lambda: namespace["A"]().f()).files == ("imagined.py",)


def test_an_unknown_walk_is_refused():
    with pytest.raises(ValueError, match="one of fit, rank, cli-rank"):
        walk("explain")
