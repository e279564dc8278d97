// The latent kernels: Gaussian likelihoods in r dimensions against Gaussian components. Twin: badac/_kernels/latent.py.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

namespace badac {

constexpr int kMaxRank = 48;  // matrices of one group of objects stay on the stack
constexpr int kGroup = 8;     // objects that share a list of near components; a multiple of every level's lanes
constexpr int kMostLanes = 8;

struct LatentArrays {
    int64_t n, k;
    int r, p;                          // p = r (r + 1) / 2, the upper triangle row by row
    const double* precision;           // (n, p)
    const double* shift;               // (n, r)
    const double* component_precision;  // (k, p)
    const double* component_shift;     // (k, r)
    const double* log_constant;        // (k,)
};

struct LatentKernels {
    // Objects first <= i < last; out is (n, k).
    void (*log_match)(const LatentArrays&, int64_t first, int64_t last, double* out);
    // Log of the sum of the matches over the components; out is (n,), scratch has room for k vectors.
    void (*log_evidence)(const LatentArrays&, int64_t first, int64_t last, double* scratch, double* out);
    // One component only, k = 1, log_constant unused: covariance (n, p), mean (n, r), log_det (n,) of M = A_i + Q.
    void (*posterior)(const LatentArrays&, double* covariance, double* mean, double* log_det);
    // One EM step; see latent_step in the twin. near is (groups, k). sums is (k, 1 + r + 2 p), zeros at the start.
    void (*step)(const LatentArrays&, bool refresh, double threshold, uint8_t* near, double* scratch, double* vectors, double* evidence,
                 double* sums);
    // Evidence of members with their own shares of the components removed; see latent_left_out in the twin.
    void (*left_out)(const LatentArrays&, const double* means, const double* count, double* scratch, double* evidence);
    // Precision of each point, precision times residual (n, m) and their constant (n,); see weigh_points in the twin.
    void (*weigh)(const double* values, const double* sigma, const double* mean, const double* psi, int64_t n, int64_t m, double* weight,
                  double* scaled, double* offset);
};

const LatentKernels* latent_kernels_baseline();
const LatentKernels* latent_kernels_avx2();
const LatentKernels* latent_kernels_avx512();

}  // namespace badac
