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


def _has_latent() -> bool:
    """Whether the core that is installed has the latent kernels: one built before them still serves the pairs."""
    from badac._kernels import _core

    return hasattr(_core, "latent_log_match")


def _has(name: str) -> bool:
    """Whether the core that was built has a kernel; an older one may not."""
    import badac._kernels._core as core

    return hasattr(core, name)


if _compiled_wanted():
    from badac._kernels.compiled import pair_log_match, pair_logsumexp

    implementation = "compiled"
else:
    from badac._kernels.reference import pair_log_match, pair_logsumexp

    implementation = "reference"

if implementation == "compiled" and _has_latent():
    from badac._kernels.compiled_latent import latent_log_match, latent_sums
else:
    from badac._kernels.latent import latent_log_match, latent_sums

if implementation == "compiled" and _has("mixture_logsumexp"):
    from badac._kernels.compiled_mixture import mixture_logsumexp
else:
    from badac._kernels.mixture import mixture_logsumexp

__all__ = [
    "FloatArray",
    "IntArray",
    "implementation",
    "latent_log_match",
    "latent_sums",
    "mixture_logsumexp",
    "pair_log_match",
    "pair_logsumexp",
]
