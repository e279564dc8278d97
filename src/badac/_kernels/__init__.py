"""Arrays in, arrays out: the only place that chooses between the compiled core and its NumPy twin."""

from badac._kernels.reference import FloatArray, IntArray, pair_log_match, pair_logsumexp

__all__ = ["FloatArray", "IntArray", "pair_log_match", "pair_logsumexp"]
