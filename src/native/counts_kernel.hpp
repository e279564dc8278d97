// Poisson counts of log rates that follow a factor model. Twin: badac/_kernels/counts.py, where the formulas are.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

constexpr int kCountsMaxRank = 48, kCountsMaxNodes = 16;

struct CountsModel {
    int64_t m, padded;  // points, and points rounded up to whole groups of vectors
    int r;
    const double* mean;        // (padded), zeros beyond m
    const double* psi;         // (padded), ones beyond m
    const double* unit;        // (padded): the population's own width at each point, ones beyond m
    const double* per_unit;    // (padded): one over it
    const double* factors;     // (m, r)
    const double* factors_t;   // (r, padded), zeros beyond m
    const double* products_t;  // (r (r + 1) / 2, padded): products of the factors, upper triangle row by row
};

struct CountsSteps {
    int most;
    double settled, largest, widest;  // in units of the population's own width
};

struct CountsNodes {
    int count;
    const double *away, *excess;      // (m, count): u s and exp(u s) - 1 at each node u, for each point's spread s
    const double *away_t, *excess_t;  // (count, padded): the same turned, zeros beyond m
    const double* log_weight;     // (count)
};

struct CountsKernels {
    int group;  // points are padded to multiples of this
    int64_t (*posterior_work)(const CountsModel&);
    void (*posterior)(const CountsModel&, const CountsSteps&, const double* counts, const double* exposure, double* work, double* value,
                      double* variance, double* link);
    int64_t (*likelihood_work)(const CountsModel&, const CountsNodes&, int64_t n_positions);
    void (*log_likelihood)(const CountsModel&, const CountsNodes&, const double* counts, const double* exposure, const double* positions,
                           int64_t n_positions, double* work, double* out);
};

const CountsKernels* counts_kernels_baseline();
const CountsKernels* counts_kernels_avx2();
const CountsKernels* counts_kernels_avx512();

}  // namespace badac
