// The latent kernels: Gaussian likelihoods in r dimensions against Gaussian components. Twin: badac/_kernels/latent.py.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

namespace badac {

constexpr int kMaxRank = 48;  // matrices of one group of objects stay on the stack
constexpr int kMaxResponsible = 2;  // components that `responsible` names
constexpr double kLeastShare = 1e-6;  // of a component that `moments` counts: as in the twin
constexpr int kGroup = 8;     // objects that share a list of near components; a multiple of every level's lanes

struct LatentArrays {
    int64_t n, k;
    int r, p;                          // p = r (r + 1) / 2, the upper triangle row by row
    const double* precision;           // (n, p)
    const double* shift;               // (n, r)
    const double* component_precision;  // (k, p)
    const double* component_shift;     // (k, r)
    const double* log_constant;        // (k,)
};

// One EM step, a stretch of objects at a time: their shares first, object by object, then the sums, component by component. A sum
// runs over the objects in their order, whatever threads there are.
struct StepArrays {
    bool refresh;
    double threshold;
    uint8_t* near;     // (groups, k)
    double* evidence;  // (n)
    int64_t origin;    // the first object of the stretch; a multiple of kGroup
    double* objects;   // (vectors of the stretch, p + r) vectors: A_i and b_i
    double* shares;    // (vectors of the stretch, k) vectors; only those of near components are set
    double* sums;      // (k, 1 + r + 2 p) vectors, zeros before the first stretch
};

struct PointArrays {
    int64_t m;
    const double *values, *sigma;  // (n, m)
    const double *mean, *psi;      // (m)
    double *weight, *scaled;       // (n, m)
    double* offset;                // (n)
};

// Objects first <= i < last, first a multiple of the lanes.
struct LatentKernels {
    int lanes;
    // out is (n, k), scratch has room for k vectors.
    void (*log_match)(const LatentArrays&, int64_t first, int64_t last, double* scratch, double* out);
    // Log of the sum of the matches over the components; out is (n,), scratch as above.
    void (*log_evidence)(const LatentArrays&, int64_t first, int64_t last, double* scratch, double* out);
    // The same, with the `count` (1 or 2) largest matches (n, count) and whose they are; `count` is at most k.
    void (*responsible)(const LatentArrays&, int count, int64_t first, int64_t last, double* scratch, double* out, int64_t* which,
                        double* match);
    // One component only, k = 1, log_constant unused: covariance (n, p), mean (n, r), log_det (n,) of M = A_i + Q.
    void (*posterior)(const LatentArrays&, int64_t first, int64_t last, double* covariance, double* mean, double* log_det);
    // Mean (n, r) and covariance (n, p) of the positions, averaged over the components; scratch has room for k vectors.
    void (*moments)(const LatentArrays&, int64_t first, int64_t last, double* scratch, double* mean, double* covariance);
    // See latent_step in the twin.
    void (*step_shares)(const LatentArrays&, const StepArrays&, int64_t first, int64_t last);
    void (*step_sums)(const LatentArrays&, const StepArrays&, int64_t component, int64_t first, int64_t last);
    // Evidence of members with their own shares of the components removed; see latent_left_out in the twin. Scratch as above.
    void (*left_out)(const LatentArrays&, const double* means, const double* count, int64_t first, int64_t last, double* scratch,
                     double* evidence);
    // Precision of each point, precision times residual and their constant; see weigh_points in the twin.
    void (*weigh)(const PointArrays&, int64_t first, int64_t last);
};

const LatentKernels* latent_kernels_baseline();
const LatentKernels* latent_kernels_avx2();
const LatentKernels* latent_kernels_avx512();

}  // namespace badac
