// The kernels of the anomaly hypotheses: smooth deviations integrated out, and bumps as a matched filter.
// Twins: badac/_kernels/hypotheses.py.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "grid_points.hpp"

namespace badac {

constexpr int kMaxDeviation = 96;  // dimensions in which a deviation and a class are seen together; on the stack
constexpr int kMaxBumpRank = 48;
constexpr int kMaxAsked = 2;  // components of a class that are asked about bumps

struct WithoutArrays {
    int64_t n;
    int columns, size;           // the first `columns` of `size` dimensions are integrated out
    int all, sums_width;         // dimensions of the input, columns of `sums`
    int used_count;              // how many columns of `sums` are used
    const int32_t* used;         // (used_count) which they are
    const int32_t* first;        // (size (size + 1) / 2) an entry of the chosen upper triangle, as the number of a used column,
    const int32_t* second;       //   and of another one to be added; -1 if there is none
    const int32_t* chosen;       // (size) where each chosen dimension is in `shift`
    const double* sums;          // (n, sums_width)
    const double* shift;         // (n, all)
    const double* offset;        // (n)
    const double* amplitude;     // (n, columns)
    double* out_precision;       // (n, rest (rest + 1) / 2), rest = size - columns
    double* out_shift;           // (n, rest)
    double* out_offset;          // (n)
};

struct BumpArrays {
    GridPoints points;                // `all` objects, of which some are asked
    int r, p, asked, bumps;           // p = r (r + 1) / 2
    const double* factors;            // (m, r)
    const double* precision;          // (all, p)
    const double* shift;              // (all, r)
    const int64_t* which;             // (n, asked)
    const double* component_precision;  // (k, p)
    const double* component_shift;    // (k, r)
    const int32_t* first;             // (bumps) where a bump begins
    const int32_t* length;            // (bumps) how many points it has
    const int64_t* begin;             // (bumps) where its heights are in `height`
    const double* height;
    double shrink;                    // k^2 / (1 + k^2); 0: the signal-to-noise ratios themselves
    const double* log_share;          // (n, asked) of the components; only where averages are asked
    double* out;                      // (n), or (n, asked, bumps)
};

struct HypothesisKernels {
    int lanes;
    // Objects first <= i < last. `scratch` has used_count vectors.
    void (*without)(const WithoutArrays&, int64_t first, int64_t last, double* scratch);
    // `scratch` has (2 + asked) m + 2 asked bumps vectors.
    void (*bump)(const BumpArrays&, int64_t first, int64_t last, double* scratch);
};

const HypothesisKernels* hypothesis_kernels_baseline();
const HypothesisKernels* hypothesis_kernels_avx2();
const HypothesisKernels* hypothesis_kernels_avx512();

}  // namespace badac
