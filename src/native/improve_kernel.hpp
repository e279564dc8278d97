// The M-step of a deconvolved mixture, some components at a time. Twin: latent_improved in badac/_kernels/latent.py.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

constexpr int kImproveMost = 16;  // dimensions: in more the eigenvectors of a library are faster than these rotations
constexpr double kImproveLeastCount = 1e-3;

struct ImproveArrays {
    int64_t k;
    int r;
    const double *old_means, *old_covariances;  // (k, r), (k, r, r)
    const double* sums;                         // (k, 1 + r + 2 p)
    double pooling, least_information, largest_change, floor;
    double *weights, *means, *covariances;      // (k), (k, r), (k, r, r)
    double *precision, *shift, *log_constant;   // (k, p), (k, r), (k)
};

// Components first <= c < last; false if a covariance of theirs is none.
struct ImproveKernels {
    int lanes;
    // Means and covariances, not pooled yet.
    bool (*step)(const ImproveArrays&, int64_t first, int64_t last);
    // Covariances pooled with the average (r, r) of all; the components as the latent kernels take them. `weights` are counts before, and
    // `total` is their sum.
    bool (*finish)(const ImproveArrays&, const double* pooled, double total, int64_t first, int64_t last);
};

const ImproveKernels* improve_kernels_baseline();
const ImproveKernels* improve_kernels_avx2();
const ImproveKernels* improve_kernels_avx512();

}  // namespace badac
