// All pairs of objects and curves: log matches, their log-sum over the curves (paper eq. 7), or the best one.
// The twins are pair_log_match, pair_logsumexp and pair_best in badac/_kernels/pairs.py; how it is done is in README.md.
#pragma once
#include <cstdint>
#include <functional>

#include "pair_kernel.hpp"

namespace badac {

struct PairArrays {
    int64_t n, k, m;           // objects, curves, points
    const double* d;           // (n, m) values of the objects; NaN: missing
    const double* d_sigma;     // (n, m), or (m) if d_sigma_shared; infinite: missing
    bool d_sigma_shared;
    const double* y;           // (k, m) finite
    const double* y_sigma;     // (k, m), or (m) if y_sigma_shared; finite
    bool y_sigma_shared;
    const double* extra;        // (m) variance added to every pair
    const double* log_weights;  // (k), or null: equal weights, -log k each
    const int64_t* skip;        // (n), the curve to leave out or -1; or null
};

struct PairOptions {
    int n_threads = 1;
    bool screen = true;            // float first, double where it matters
    bool only_best = false;        // the best curve is looked for, not the sum over all
    int64_t objects_per_block = 0;  // 0: chosen from the sizes
    int64_t curves_per_block = 0;
    std::function<bool()> interrupted;
};

// What the screening did, for tests and benchmarks.
struct PairReport {
    int64_t screened = 0, survived = 0, in_double = 0, careful = 0;  // pairs
};

// A pair without any variance at a point that counts.
struct ZeroVariance {
    int64_t object, curve, point;
};

PairReport pair_logsumexp(const PairArrays&, const PairKernels&, const PairOptions&, double* out);  // (n)
PairReport pair_best(const PairArrays&, const PairKernels&, PairOptions, int64_t* out);             // (n) curves
PairReport pair_log_match(const PairArrays&, const PairKernels&, const PairOptions&, double* out);  // (n, k)

}  // namespace badac
