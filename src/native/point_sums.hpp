// Sums of w x x' over the points of an object, and what is integrated out of them. Shared by the kernels for points of an object's
// own (points_kernel.cpp, low_rank_kernel.cpp); for sources compiled once per instruction set only: see simd.hpp for the rules.
#pragma once
#include <math.h>

#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;
constexpr int kTogether = 4;  // points added at a time, so that a sum is loaded and stored once for all of them
constexpr double kLog2Pi = 1.83787706640934548356;

// sum (width x width) += w x x' over kTogether rows x, from the vector that holds the diagonal to the right; rows that are not there
// are 0. Two rows of the sum at a time: a vector of x is loaded once for both.
inline void add_rows(const double* rows, const double* weighed, int size, int width, double* sum) {
    int a = 0;
    for (; a + 1 < size; a += 2) {
        VecD upper[kTogether], lower[kTogether];
        for (int k = 0; k < kTogether; ++k) {
            upper[k] = broadcast<VecD>(weighed[k * width + a]);
            lower[k] = broadcast<VecD>(weighed[k * width + a + 1]);
        }
        for (int c = a / L * L; c < width; c += L) {
            VecD first = load<VecD>(sum + a * width + c), second = load<VecD>(sum + (a + 1) * width + c);
            for (int k = 0; k < kTogether; ++k) {
                const VecD x = load<VecD>(rows + k * width + c);
                first = fma(upper[k], x, first);
                second = fma(lower[k], x, second);
            }
            store(sum + a * width + c, first);
            store(sum + (a + 1) * width + c, second);
        }
    }
    if (a == size) return;
    VecD factor[kTogether];
    for (int k = 0; k < kTogether; ++k) factor[k] = broadcast<VecD>(weighed[k * width + a]);
    for (int c = a / L * L; c < width; c += L) {
        VecD total = load<VecD>(sum + a * width + c);
        for (int k = 0; k < kTogether; ++k) total = fma(factor[k], load<VecD>(rows + k * width + c), total);
        store(sum + a * width + c, total);
    }
}

// Sweep the first j rows out of the symmetric sum + I / wide (its upper triangle); the log determinant of I + wide times that part.
inline double sweep(double* sum, int j, int size, int width, double wide) {
    double log_det = 0.0;
    for (int a = 0; a < j; ++a) {
        double* pivot = sum + a * width;
        const double value = pivot[a] + 1.0 / wide, inverse = 1.0 / value;
        log_det += log(wide * value);
        for (int b = a + 1; b < size; ++b) {
            const double f = pivot[b] * inverse;
            const VecD factor = broadcast<VecD>(-f);
            double* row = sum + b * width;
            for (int c = b / L * L; c < width; c += L) store(row + c, fma(factor, load<VecD>(pivot + c), load<VecD>(row + c)));
        }
    }
    return log_det;
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
