// Rows of log terms: their log-sum, and loss and slopes of weighted rows. Twin: badac/_kernels/rows.py, where the formulas are.
//
// Plain pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

struct RowsKernels {
    int group;  // `work` of a row of k terms is k rounded up to a multiple of this
    // Of rows first <= i < last of terms (n, k); out (n).
    void (*log_sums)(const double* terms, int64_t k, int64_t first, int64_t last, double* out);
    // Loss of one object with outputs (o, k) and weights (o): the slope (k) by class and (o) by output are written.
    double (*loss)(const double* outputs, const double* weights, const double* bias, int64_t label, int64_t o, int64_t k, double* work,
                   double* slope, double* by_output);
};

const RowsKernels* rows_kernels_baseline();
const RowsKernels* rows_kernels_avx2();
const RowsKernels* rows_kernels_avx512();

}  // namespace badac
