// Pairs under noise of several Gaussian widths, in single precision, for screening. Twin: badac/_kernels/mixture.py.
//
// A point of a pair has the density sum_c a_c N(r; 0, v_c). With w the widest component it is written as
//     height * exp(-r^2 / (2 v_w)) * [ sum_c h_c exp(-r^2 (1/v_c - 1/v_w) / 2) ] ,   the bracket at most 1,
// so that exponents never overflow, and no logarithm is needed but of the product of the brackets. Before that, an envelope of the
// density (mixture_envelope.hpp) tells, by products alone, which curves cannot matter.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

// An object on all points, padded; those that it lacks count for nothing.
struct MixtureObject {
    int padded;
    const float* value;  // (padded)
    // Shared curve errors, (2 * C, padded): -1/(2 v_w), h_w, then -log2(e) (1/v_c - 1/v_w)/2, h_c of the other components; 0, 1, 0, 0 ...
    // where it lacks a point. Own curve errors, (4, padded): the object's variance, one over the largest height that a curve can
    // have (0 where it lacks a point), whether it has the point and whether it lacks it.
    const float* coefficient;
};

// An object under the envelope (1 + rate u)^(-power).
struct MixtureBound {
    int n_points;
    const int32_t* point;   // (n_points)
    const float* value;     // (n_points)
    const float* variance;  // (n_points) the object's; shared curve errors: the envelope's rate over the variance of a pair
    float rate, power;
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
    int tile, lanes;  // curves in a tile; what the points of a row are padded to a multiple of
    // Upper bounds of the scores of a tile, less what is the same for all curves: power sum log(1 / (1 + rate u)), and, with own errors,
    // -1/2 sum log v. A tile is (points, curves); own errors: (points, 2, curves), value and variance.
    void (*bound_shared)(const MixtureBound&, const float* tile, float* out);
    void (*bound_own)(const MixtureBound&, const float* tile, float* out);
    // Scores of n curves of a list relative to the object's largest heights. Rows are (curves, padded); own errors: (curves, 2, padded),
    // value and variance.
    void (*score_shared)(const MixtureObject&, const MixtureWidths&, const float* rows, const int32_t* list, int n, float* out);
    void (*score_own)(const MixtureObject&, const MixtureWidths&, const float* rows, const int32_t* list, int n, float* out);
    int double_lanes;
    // Log density of one pair over n points (whole vectors), without (2 pi)^(-n/2): from -r^2/2 and the two variances.
    double (*careful)(const MixturePairs&, int n, const double* square, const double* object_variance, const double* curve_variance);
};

const MixtureKernels* mixture_kernels_baseline();
const MixtureKernels* mixture_kernels_avx2();
const MixtureKernels* mixture_kernels_avx512();

}  // namespace badac
