"""What somebody waits for before anything happens: CPU seconds of `badac --version` and help pages, fresh processes.

Beside them a bare interpreter and `import typer, rich`, the libraries of the command line, in the same run.

Run: python -m benchmarks.start_up [--write]
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from reproduction.marked import write_into

REPEATS = 5
PAGE = Path(__file__).resolve().parents[1] / "docs" / "command_line.md"
RUN = "import sys; sys.argv = ['badac', *sys.argv[1:]]; from badac.cli import main; main()"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import typer, rich": ["-c", "import typer, rich.console, rich.progress"],
    "badac --version": ["-c", RUN, "--version"],
    "badac --help": ["-c", RUN, "--help"],
    "badac rank --help": ["-c", RUN, "rank", "--help"],
}
BAR = 0.5
"""CPU seconds that `--version` and `--help` may take."""


def cpu_seconds(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def measured() -> dict[str, float]:
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(REPEATS):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], cpu_seconds(arguments))
    return best


def table(best: dict[str, float]) -> str:
    rows = [f"| `{name}` | {seconds:.2f} |" for name, seconds in best.items()]
    return "\n".join(["| command | CPU seconds |", "|---|---|", *rows])


def main() -> None:
    found = measured()
    print(table(found))
    if "--write" in sys.argv:
        write_into(PAGE, {"start_up": table(found)})
    slow = [name for name in ("badac --version", "badac --help") if found[name] > BAR]
    print(f"over {BAR} s: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
