// The latent kernels: Gaussian likelihoods in r dimensions against Gaussian components. Twin: badac/_kernels/latent.py.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

namespace badac {

constexpr int kMaxRank = 48;  // matrices of one group of objects stay on the stack

struct LatentArrays {
    int64_t n, k;
    int r, p;                          // p = r (r + 1) / 2, the upper triangle row by row
    const double* precision;           // (n, p)
    const double* shift;               // (n, r)
    const double* component_precision;  // (k, p)
    const double* component_shift;     // (k, r)
};

struct LatentKernels {
    // Objects first <= i < last; out is (n, k).
    void (*log_match)(const LatentArrays&, const double* log_constant, int64_t first, int64_t last, double* out);
    // One component: adds to count (1), first (r), second (p), spread (p) over the listed objects with their weights.
    void (*sums)(const LatentArrays&, int64_t component, const int32_t* list, const double* weight, int64_t n_listed, double* count,
                 double* first, double* second, double* spread);
};

const LatentKernels* latent_kernels_baseline();
const LatentKernels* latent_kernels_avx2();
const LatentKernels* latent_kernels_avx512();

}  // namespace badac
