"""The source tree in numbers: how much there is, how far a call walks through it, and where its walls leak.

    python -m reproduction.tree                          a table
    python -m reproduction.tree --list                   and everything that was counted, file by file
    python -m reproduction.tree --json > before.json     the numbers, to stand beside later ones with --before before.json
    python -m reproduction.tree --src OTHER/src/badac    another checkout; with PYTHONPATH=OTHER/src its walk too
    python -m reproduction.tree --walk fit rank          the files that `fit` goes through, then those that `rank` adds

What is counted, in ``src/badac/**/*.py``: lines as ``wc -l`` has them; `isinstance` calls that name a class of ours which is no
Protocol; functions of more than six parameters besides self and cls, leaving out ``__init__``; import statements that reach
into a package from outside it, for the package that most reach into. Files and depth are those of `reproduction.walk`, which
runs the badac that is imported: where that is not the one that was read, they are left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "badac"
MOST_PARAMETERS = 6
AIMS = {
    "lines": 27_000,
    "modules": 180,
    "fit: files": 36,
    "isinstance of our classes": 25,
    "functions of more than six parameters": 8,
}
"""What the tree was rebuilt for."""


@dataclass(frozen=True)
class Module:
    """A source file: its path within the package, its dotted name and its syntax tree."""

    path: str
    name: str
    lines: int
    tree: ast.Module


@dataclass(frozen=True, order=True)
class Place:
    """Something that was counted, and where it is."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.what}"


@dataclass(frozen=True)
class Source:
    """What a source tree holds; `imports` are the import statements into each package from outside it."""

    lines: int
    modules: int
    isinstances: list[Place]
    functions: list[Place]
    imports: dict[str, list[Place]] = field(repr=False)

    def largest(self, level: int) -> str:
        """The package of so many levels below badac with most imports from outside; empty if there is none."""
        of_level = [name for name in self.imports if name.count(".") == level]
        return max(of_level, key=lambda name: len(self.imports[name]), default="")

    def numbers(self) -> dict[str, int]:
        """Return all counts by name."""
        out = {
            "lines": self.lines,
            "modules": self.modules,
            "isinstance of our classes": len(self.isinstances),
            "functions of more than six parameters": len(self.functions),
        }
        for level, words in ((1, "package"), (2, "subpackage")):
            out[f"imports into the largest {words}"] = len(self.imports.get(self.largest(level), ()))
        return out


def read(source: Path = SOURCE) -> Source:
    """Measure the package in a folder such as ``src/badac``."""
    modules = list(_modules(source))
    classes = {
        node.name: _is_protocol(node)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    concrete = {name for name, protocol in classes.items() if not protocol}
    return Source(
        sum(module.lines for module in modules),
        len(modules),
        sorted(place for module in modules for place in _isinstances(module, concrete)),
        sorted(place for module in modules for place in _long_functions(module)),
        _imports(modules),
    )


def _modules(source: Path) -> Iterator[Module]:
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        within = path.relative_to(source)
        parts = within.with_suffix("").parts
        name = ".".join(["badac", *(parts[:-1] if parts[-1] == "__init__" else parts)])
        yield Module(within.as_posix(), name, text.count("\n"), ast.parse(text))


def _is_protocol(node: ast.ClassDef) -> bool:
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return any(_last_name(base) == "Protocol" for base in bases)


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _isinstances(module: Module, concrete: set[str]) -> Iterator[Place]:
    aliases = {
        target.id: _names(node.value)
        for node in module.tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    foreign = set()  # names that this module has from elsewhere, such as another Normal
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("badac"):
            foreign |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and _last_name(node.func) == "isinstance" and len(node.args) == 2:
            named = _names(node.args[1])
            named |= {name for alias in named for name in aliases.get(alias, ())}
            if ours := sorted((named & concrete) - foreign):
                yield Place(module.path, node.lineno, " | ".join(ours))


def _names(node: ast.expr) -> set[str]:
    """The names of classes in ``A``, ``module.A``, ``(A, B)`` and ``A | B``."""
    if isinstance(node, ast.Tuple):
        return {name for part in node.elts for name in _names(part)}
    if isinstance(node, ast.BinOp):
        return _names(node.left) | _names(node.right)
    return {_last_name(node)} - {""}


def _long_functions(module: Module) -> Iterator[Place]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__init__":
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = sum(one.arg not in ("self", "cls") for one in given)
            if count > MOST_PARAMETERS:
                yield Place(module.path, node.lineno, f"{node.name}: {count}")


def _imports(modules: Sequence[Module]) -> dict[str, list[Place]]:
    """Import statements from outside, by package: those below badac, at any level."""
    packages = {module.name for module in modules if module.path.endswith("/__init__.py")}
    known = packages | {module.name for module in modules}
    found: dict[str, list[Place]] = {name: [] for name in packages}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                entered = {above for target in _targets(node, known) for above in _above(target)} & packages
                for package in entered:
                    if not f"{module.name}.".startswith(f"{package}."):
                        found[package].append(Place(module.path, node.lineno, ast.unparse(node)))
    return found


def _targets(node: ast.Import | ast.ImportFrom, known: set[str]) -> set[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names} & known


def _above(name: str) -> Iterator[str]:
    """``a.b.c`` and the packages that hold it."""
    parts = name.split(".")
    for end in range(2, len(parts) + 1):
        yield ".".join(parts[:end])


def _walked(source: Path) -> dict[str, int]:
    """Files, packages and depth of `fit` and `rank`; empty, saying so, if another badac than the given one is imported."""
    import badac
    from reproduction.walk import walk

    imported = Path(badac.__file__).resolve().parent
    if source.resolve() != imported:
        print(f"Not walked: {imported} is imported, not {source}. Set PYTHONPATH.", file=sys.stderr)
        return {}
    out = {}
    for what in ("fit", "rank"):
        found = walk(what)
        out[f"{what}: files"] = len(found.files)
        out[f"{what}: packages"] = len(found.packages)
        out[f"{what}: calls deep"] = found.depth
    return out


def _table(numbers: dict[str, int], before: dict[str, int]) -> str:
    head = ["", *(["before"] if before else []), "now", "aim"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for name, number in numbers.items():
        then = [f"{before[name]:,}" if name in before else ""] if before else []
        aim = f"{AIMS[name]:,}" if name in AIMS else ""
        lines.append("| " + " | ".join([name, *then, f"{number:,}", aim]) + " |")
    return "\n".join(lines)


def beside_before() -> str:
    """Return the table of this tree beside the one before it was rebuilt (0f1e4e2)."""
    before = json.loads((Path(__file__).parent / "tree_before.json").read_text())
    return _table(read().numbers() | _walked(SOURCE), before)


def _show_walks(which: Sequence[str]) -> None:
    from reproduction.walk import walk

    seen: set[str] = set()
    for what in which:
        found = walk(what)
        new = [step for step in found.steps if step.path not in seen]
        more = f", {len(new)} of them new" if seen else ""
        print(f"{what}: {len(found.files)} files{more}, {found.depth} calls deep")
        for step in new:
            print(f"  {step.path:<48} {step.function}")
        seen |= set(found.files)


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction.tree",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--src", type=Path, default=SOURCE, help="folder of the package's source")
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")
    parser.add_argument("--list", action="store_true", help="also what was counted, and where")
    parser.add_argument("--before", type=Path, help="JSON of an earlier run, to stand beside")
    parser.add_argument("--static", action="store_true", help="read only, run nothing")
    parser.add_argument(
        "--walk", nargs="+", choices=("fit", "rank", "cli-rank"), help="only print these walks"
    )
    given = parser.parse_args(words)
    if given.walk:
        _show_walks(given.walk)
        return
    if not (given.src / "__init__.py").exists():
        parser.error(f"--src must be the folder of a package: {given.src} has no __init__.py.")
    source = read(given.src)
    numbers = source.numbers() | ({} if given.static else _walked(given.src))
    if given.json:
        print(json.dumps(numbers, indent=1))
        return
    print(_table(numbers, json.loads(given.before.read_text()) if given.before else {}))
    print(f"\nThe largest package is {source.largest(1)}, the largest subpackage {source.largest(2)}.")
    if given.list:
        _show_places("isinstance of our classes", source.isinstances)
        _show_places(f"functions of more than {MOST_PARAMETERS} parameters", source.functions)
        for level in (1, 2):
            package = source.largest(level)
            _show_places(f"imports into {package}", source.imports.get(package, ()))


def _show_places(title: str, places: Sequence[Place]) -> None:
    print(f"\n{title}: {len(places)}")
    for place in places:
        print(f"  {place}")


if __name__ == "__main__":
    main()
