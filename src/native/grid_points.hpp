// Objects on a common grid around a mean: what the anomaly hypotheses are asked about. Twin: GridPoints of badac/_kernels/hypotheses.py.
//
// A plain struct of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

struct GridPoints {
    int64_t n;                      // how many are asked
    int m;                          // points
    const double *values, *sigma;   // (all, m); a missing point has the value NaN or an infinite error
    const double *mean, *psi;       // (m)
    const int64_t* rows;            // (n) which of all are asked
};

}  // namespace badac
