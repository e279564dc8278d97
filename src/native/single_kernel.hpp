// Objects against curves of several classes, and point by point against mixtures, in single precision. Twin:
// badac/_kernels/single.py, where the formulas are.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

// Values and variances are in units of their own at every point, less a centre, so that single precision reaches; a value is the
// sum of two singles, of which differences lose nothing.
struct SingleCurves {
    int64_t m, padded;  // points; curves, each class filled up to whole vectors, all of them to whole tiles
    int classes;
    const float* tiles;      // (padded / tile, m, 3, tile): high and low part of the value, variance
    const float* spare;      // (padded): 0, and far below any score for curves that only fill up
    const int64_t* first;    // (classes + 1): where each class begins
    const double* log_count; // (classes): of its curves
};

struct SingleMixtures {
    int64_t m, g, padded;  // points; Gaussians at each; classes times points, filled up to whole vectors
    int classes;
    const float* rows;  // (padded / lanes, g, 4, lanes), the points of all classes side by side: high, low, variance, weight
    const char* plain;  // (classes, m): whether single precision reaches
    const double *centre, *unit, *log_unit;         // (classes, m)
    const double *values, *variance, *log_weights;  // (classes, m, g), where it does not reach
};

// What one object has at its `count` observed points: which they are, and high, low, variance of each in the units of the curves.
struct SingleObject {
    int64_t count;
    const int64_t* at;
    const float *high, *low, *variance;
    double* out;  // (classes)
};

// Objects go through in blocks, so that curves and mixtures stay in the cache while the objects of a block meet them.
struct SingleKernels {
    int lanes, tile;
    // Log of the mean match of n objects with the curves of each class, without what all curves have in common (the units);
    // `work` holds n times `padded` floats, `reference` n of them.
    void (*curves)(const SingleCurves&, const SingleObject* objects, int64_t n, float* work, float* reference);
    // Log evidence (n, classes) of n objects with values and variances (n, m) under the mixtures of each class; `work` holds
    // 4 n times `padded` floats.
    void (*points)(const SingleMixtures&, const double* values, const double* variance, int64_t n, float* work, double* out);
};

const SingleKernels* single_kernels_baseline();
const SingleKernels* single_kernels_avx2();
const SingleKernels* single_kernels_avx512();

}  // namespace badac
