// The spread of true values at each point. Twin: badac/_kernels/spread.py, where the formulas are.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

struct SpreadArrays {
    int64_t n, m;
    const double *values, *variance;  // (n, m); a missing value is any number of infinite variance
    const double* least;              // (m)
    int steps;
    double* out;  // (m)
};

struct SpreadKernels {
    int lanes;
    // The `lanes` points from `first` on; scratch has room for n vectors.
    void (*variance)(const SpreadArrays&, int64_t first, double* scratch);
};

const SpreadKernels* spread_kernels_baseline();
const SpreadKernels* spread_kernels_avx2();
const SpreadKernels* spread_kernels_avx512();

}  // namespace badac
