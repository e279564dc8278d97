// The nearest of some centres to each of many places. Twin: badac/_kernels/groups.py, where the formulas are.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

struct CentreArrays {
    int64_t k;              // centres, padded to a multiple of 8
    int r;
    const double* centres;  // (r, k): turned; those that only fill the last vectors are infinitely far
};

struct GroupKernels {
    // Number of the nearest centre of places first <= i < last, of (n, r); of equal ones the first.
    void (*nearest)(const CentreArrays&, const double* places, int64_t first, int64_t last, int64_t* label);
    // distance (n) of places first <= i < last becomes the squared distance to `centre` (r) where that is less; `turned` is (r, n).
    void (*closer)(const double* turned, const double* centre, int64_t n, int r, int64_t first, int64_t last, double* distance);
};

const GroupKernels* group_kernels_baseline();
const GroupKernels* group_kernels_avx2();
const GroupKernels* group_kernels_avx512();

}  // namespace badac
