// Points on their own, each under a mixture of Gaussians. Twin: badac/_kernels/pointwise.py, where the formula is.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

struct PointMixtures {
    int64_t m, padded;  // points, and Gaussians at each rounded up to whole groups of vectors
    const double *values, *variance, *log_weights;  // (m, padded)
    const double* smallest;                         // (m): of the variances at each point
    const char* plain;                              // (m): whether its weights are none above 1, its variances of one order
};

struct PointwiseKernels {
    int group;  // Gaussians are padded to multiples of this
    // The log evidence of one object; `work` holds `padded` doubles.
    double (*log_evidence)(const PointMixtures&, const double* values, const double* variance, double* work);
};

const PointwiseKernels* pointwise_kernels_baseline();
const PointwiseKernels* pointwise_kernels_avx2();
const PointwiseKernels* pointwise_kernels_avx512();

}  // namespace badac
