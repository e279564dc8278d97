"""Compile the core as a compiler without GNU extensions would, and run its kernels: ``make plain``.

    python tests/_kernels/plain.py {g++,clang++}

Plain vectors (BADAC_PLAIN_VECTORS: arrays with operators, no attributes), one level, with the compiler's warnings about
extensions as errors; then every kernel of the table is held to its definition on what was built.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sanitized

# Of the package's own sources; headers of Python and nanobind are the system's.
STRICT = {"g++": "-Wpedantic", "clang++": "-Wpedantic -Wgnu"}


def main() -> int:
    compiler = sys.argv[1]
    core = sanitized.compiled(
        f"plain-{compiler}",
        f"-DBADAC_PLAIN_VECTORS {STRICT[compiler]}",
        ["-DBADAC_COMPILES_AVX512=OFF", f"-DCMAKE_CXX_COMPILER={compiler}"],
    )
    code = sanitized.USE.format(core=str(core), tests=str(Path(__file__).parent)) + sanitized.TESTS
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent / "test_kernels.py")], check=False
    )
    print(f"plain vectors, {compiler}: {'compiled, and as defined' if done.returncode == 0 else 'FAILED'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
