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

if implementation == "compiled" and _has("latent_step"):
    from badac._kernels.compiled_latent import (
        latent_left_out,
        latent_log_evidence,
        latent_log_match,
        latent_posterior,
        latent_step,
        weigh_points,
    )
else:
    from badac._kernels.latent import (
        latent_left_out,
        latent_log_evidence,
        latent_log_match,
        latent_posterior,
        latent_step,
        weigh_points,
    )

if implementation == "compiled" and _has("mixture_logsumexp"):
    from badac._kernels.compiled_mixture import mixture_logsumexp
else:
    from badac._kernels.mixture import mixture_logsumexp

if implementation == "compiled" and _has("bumps"):
    from badac._kernels.compiled_hypotheses import bump_average, bump_ratios, latent_without
else:
    from badac._kernels.hypotheses import bump_average, bump_ratios, latent_without

if implementation == "compiled" and _has("widths_posterior"):
    from badac._kernels.compiled_widths import widths_log_likelihood, widths_posterior
else:
    from badac._kernels.widths import widths_log_likelihood, widths_posterior

__all__ = [
    "FloatArray",
    "IntArray",
    "bump_average",
    "bump_ratios",
    "implementation",
    "latent_left_out",
    "latent_log_evidence",
    "latent_log_match",
    "latent_posterior",
    "latent_step",
    "latent_without",
    "mixture_logsumexp",
    "pair_log_match",
    "pair_logsumexp",
    "weigh_points",
    "widths_log_likelihood",
    "widths_posterior",
]
