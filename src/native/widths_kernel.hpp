// Points of several Gaussian widths around latent positions. Twin: badac/_kernels/widths.py, where the formulas are.
//
// The widest component w is taken out of every point's sum over widths,
//     sum_c a_c N(x; 0, v_c) = exp(-x^2 / (2 v_w)) [ h_w + sum_c h_c exp(-x^2 (1/v_c - 1/v_w) / 2) ] ,   h_c = a_c / sqrt(2 pi v_c) ,
// so that no exponent overflows and responsibilities need no largest term.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

constexpr int kWidthsMaxRank = 48, kWidthsMaxWidths = 64;
constexpr double kWidthsMostBack = 0.5, kWidthsMostAhead = 1.0;  // also in badac/_kernels/widths.py

struct WidthsModel {
    int64_t m, padded;   // points, and points rounded up to whole vectors
    int r, n_widths, widest;
    const double* factors_t;   // (r, padded), zeros beyond m
    const double* psi;         // (padded), ones beyond m
    const double *share, *scale_squared;  // (n_widths)
};

struct WidthsKernels {
    int group;  // points are padded to multiples of this
    int draws;  // positions are padded to multiples of this
    int64_t (*posterior_work)(const WidthsModel&);
    // `squared` is where the alternation begins if it has started, and what it ends with.
    void (*posterior)(const WidthsModel&, const double* residual, const double* sigma, bool started, int max_steps, double tolerance,
                      double* work, double* weight, double* squared);
    int64_t (*likelihood_work)(const WidthsModel&, int64_t n_positions);
    void (*log_likelihood)(const WidthsModel&, const double* residual, const double* sigma, const double* positions,
                           int64_t n_positions, double* work, double* out);
};

const WidthsKernels* widths_kernels_baseline();
const WidthsKernels* widths_kernels_avx2();
const WidthsKernels* widths_kernels_avx512();

}  // namespace badac
