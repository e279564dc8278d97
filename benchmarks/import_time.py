"""What `import badac` costs beside `import sklearn`: best of several fresh interpreters, taken in turns.

Run: python -m benchmarks.import_time
"""

from __future__ import annotations

import subprocess
import sys
import time

REPEATS = 9


def seconds(module: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.perf_counter() - start


def main() -> None:
    for module in ("sklearn", "badac"):  # fill the disk cache
        seconds(module)
    times = {"sklearn": float("inf"), "badac": float("inf")}
    for _ in range(REPEATS):
        for module in times:
            times[module] = min(times[module], seconds(module))
    print("| import | best seconds | ratio |\n|---|---|---|")
    for module, best in times.items():
        print(f"| {module} | {best:.3f} | {best / times['sklearn']:.2f} |")


if __name__ == "__main__":
    main()
