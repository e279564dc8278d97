"""Build the core with sanitizers into a folder of its own, and run the kernel tests and random calls on it.

    python tests/_kernels/sanitized.py {address,thread} [--plain] [--seconds N]

`address`: AddressSanitizer and UndefinedBehaviorSanitizer, kernel files too; `thread`: ThreadSanitizer over the threaded
ones. `--plain` takes the vectors of compilers without vector extensions. The library of the sanitizer comes first
(LD_PRELOAD), as Python itself is built without. The installed package stays as it is: the core that was built is put in its
place in the processes that are tried alone. First come the kernel tests (those of speed apart), then the random calls.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from badac._kernels.compiled import levels

sys.path.insert(0, str(Path(__file__).parents[1] / "reliability"))
from tally import record

ROOT = Path(__file__).parents[2]
FLAGS = {
    "address": "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1 -DBADAC_ROLLED",
    # Python and BLAS are not instrumented: what they do between themselves is not looked at (`ignore_noninstrumented_modules`).
    "thread": "-fsanitize=thread -fno-omit-frame-pointer -g1 -DBADAC_ROLLED",
}
LIBRARY = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
WORDS = {
    "address": "AddressSanitizer and UndefinedBehaviorSanitizer",
    "thread": "ThreadSanitizer",
}
# Left out: Ctrl-C within a tenth of a second is not asked of a build that is ten times slower; and the test that takes address
# space away from another Python, so that no thread can start (`ulimit`), would try the installed core there, under a sanitizer
# that needs terabytes of address space itself.
LEFT_OUT = "not ctrl_c and not a_system_without_threads_to_give"
TESTS = f"""
import pytest
sys.exit(pytest.main([sys.argv[1], "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", "-k", {LEFT_OUT!r}]))
"""
RANDOM = """
import random_calls
random_calls.main()
"""
USE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("badac._kernels._core", {core!r})
module = importlib.util.module_from_spec(spec)
sys.modules["badac._kernels._core"] = module
spec.loader.exec_module(module)
import badac._kernels
badac._kernels._core = module
sys.path.insert(0, {tests!r})
"""


def build(kind: str, *, plain: bool) -> Path:
    """Compile and return the core."""
    flags = FLAGS[kind] + (" -DBADAC_PLAIN_VECTORS" if plain else "")
    # Threads are shared out alike at every level, and plain vectors have one.
    options = ["-DBADAC_COMPILES_AVX512=OFF"] if plain or kind == "thread" else []
    return compiled(f"sanitize-{kind}{'-plain' if plain else ''}", flags, options)


def compiled(name: str, flags: str, more: list[str]) -> Path:
    """Compile the core into ``build/name`` with flags and further options of CMake, and return it."""
    folder = ROOT / "build" / name
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    options = [
        f"-Dnanobind_DIR={nanobind}",
        f"-DPython_EXECUTABLE={sys.executable}",
        "-DCMAKE_BUILD_TYPE=None",
        "-DBADAC_OPTIMISE=-O1",
        # What this machine cannot run is not built.
        f"-DBADAC_AVX512={'ON' if 'avx512' in levels() else 'OFF'}",
        *more,
    ]
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER")
    options += [f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []
    subprocess.run(
        ["cmake", "-S", ROOT, "-B", folder, f"-DCMAKE_CXX_FLAGS={flags}", *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(["cmake", "--build", folder, "--parallel", "2"], check=True, stdout=subprocess.DEVNULL)
    return next((folder / "src" / "native").glob("_core*.so"))


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("kind", choices=FLAGS)
    words.add_argument("--plain", action="store_true")
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=0)
    asked = words.parse_args()
    core = build(asked.kind, plain=asked.plain)
    compiler = os.environ.get("CXX", "g++")
    preload = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in LIBRARY[asked.kind]
    ]
    environment = os.environ | {
        "LD_PRELOAD": ":".join(preload),
        # Python keeps memory until it ends, and a length may be asked for that no machine has.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0:ignore_noninstrumented_modules=1",
    }
    start = USE.format(core=str(core), tests=str(Path(__file__).parent))
    name = f"sanitizers: {WORDS[asked.kind]}{', plain vectors' if asked.plain else ''}"
    ends = []
    for code, words_of_it in (
        (TESTS, [str(Path(__file__).parent)]),
        (RANDOM, [str(asked.seconds), str(asked.seed)]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", start + code, *words_of_it],
            env=environment, check=False, text=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        print(done.stdout)
        ends.append((done.returncode, done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""))
    clean = all(code == 0 for code, _ in ends)
    ran = f"kernel tests: {_summary(ends[0][1])}; {ends[1][1]}"
    record(name, ran, "clean" if clean else f"FAILED (exit codes {', '.join(str(code) for code, _ in ends)})")
    return 0 if clean else 1


def _summary(line: str) -> str:
    """Pytest's last line without its frame and its time."""
    return line.strip("= ").split(" in ")[0]


if __name__ == "__main__":
    sys.exit(main())
