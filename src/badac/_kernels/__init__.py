"""Arrays in, arrays out: the only place that chooses between the compiled core and its NumPy twin.

The core is used where it was built; the twin (`badac._kernels.reference`, the definition) where it was not, or where the
environment variable ``BADAC_KERNELS`` is ``reference``. ``implementation`` says which one it is.
"""

import os

from badac._kernels.arguments import FloatArray, IntArray


def _compiled_wanted() -> bool:
    choice = os.environ.get("BADAC_KERNELS", "compiled")
    if choice not in ("compiled", "reference"):
        raise ValueError(
            f"BADAC_KERNELS must be 'compiled' or 'reference': got {choice!r}. Unset it for the default."
        )
    if choice == "reference":
        return False
    try:
        import badac._kernels._core  # noqa: F401
    except ImportError:
        return False
    return True


if _compiled_wanted():
    from badac._kernels.compiled import pair_log_match, pair_logsumexp

    implementation = "compiled"
else:
    from badac._kernels.reference import pair_log_match, pair_logsumexp

    implementation = "reference"

__all__ = ["FloatArray", "IntArray", "implementation", "pair_log_match", "pair_logsumexp"]
