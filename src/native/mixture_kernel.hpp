// Pairs under noise of several Gaussian widths, in single precision, for screening. Twin: badac/_kernels/mixture.py.
//
// A point of a pair has the density sum_c a_c N(r; 0, v_c). With w the widest component it is written as
//     height * exp(-r^2 / (2 v_w)) * [ sum_c h_c exp(-r^2 (1/v_c - 1/v_w) / 2) ] ,   the bracket at most 1,
// so that exponents never overflow, no logarithm is needed but of the product of the brackets, and a partial score is an upper
// bound: a tile of curves that cannot matter any more is given up.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

struct MixtureObject {
    int n_points;          // observed points
    const int32_t* point;  // (n_points) which points
    const float* value;    // (n_points)
    // Shared curve errors: (n_points, 2 * C): -1/(2 v_w), h_w, then -log2(e) (1/v_c - 1/v_w)/2, h_c of the other components.
    // Own curve errors: (n_points, 2): the object's variance, and one over the largest height that a curve can have.
    const float* coefficient;
};

struct MixtureWidths {
    int n_components;
    const float *object_factor, *curve_factor, *share;  // (C) factors on the two variances, and shares; the widest first
};

// The same in double.
struct MixturePairs {
    int n_components;
    const double *object_factor, *curve_factor, *share;
};

struct MixtureKernels {
    int tile;  // curves in a tile
    // Scores of a tile relative to the object's largest heights; false if all are below `cut` (scores are then upper bounds).
    // A tile is (points, curves); own errors: (points, 2, curves), value and variance.
    bool (*score_shared)(const MixtureObject&, const MixtureWidths&, const float* tile, float cut, float* out);
    bool (*score_own)(const MixtureObject&, const MixtureWidths&, const float* tile, float cut, float* out);
    int double_lanes;
    // Log density of one pair over n points (whole vectors), without (2 pi)^(-n/2): from -r^2/2 and the two variances.
    double (*careful)(const MixturePairs&, int n, const double* square, const double* object_variance, const double* curve_variance);
};

const MixtureKernels* mixture_kernels_baseline();
const MixtureKernels* mixture_kernels_avx2();
const MixtureKernels* mixture_kernels_avx512();

}  // namespace badac
