// The inverse of a small symmetric matrix, as the kernels of latent positions keep it: packed, upper triangle row by row.
//
// For kernel sources only, one copy in each (see simd.hpp).
#pragma once
#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// Inverse of I + A (packed) in place, of at most kMost rows, by sweeping every pivot; positive definite as it is.
template <int kMost>
void invert(double* A, int r) {
    constexpr int L = Simd<double>::lanes, kWidest = (kMost + L - 1) / L * L;
    const int R = (r + L - 1) / L * L;  // rows are whole vectors; what is beyond r stays zero
    double M[kMost * kWidest];
    for (int i = 0; i < r * R; ++i) M[i] = 0.0;
    double* entry = A;
    for (int a = 0; a < r; ++a)
        for (int c = a; c < r; ++c, ++entry) M[a * R + c] = M[c * R + a] = *entry + (a == c ? 1.0 : 0.0);
    for (int a = 0; a < r; ++a) {
        double* pivot = M + a * R;
        const double inverse = 1.0 / pivot[a];
        for (int c = 0; c < r; ++c) {
            if (c == a) continue;
            double* row = M + c * R;
            const double f = row[a] * inverse;
            const VecD minus = broadcast<VecD>(-f);
            for (int d = 0; d < R; d += L) store(row + d, fma(minus, load<VecD>(pivot + d), load<VecD>(row + d)));
            row[a] = -f;
        }
        const VecD scale = broadcast<VecD>(inverse);
        for (int d = 0; d < R; d += L) store(pivot + d, VecD(scale * load<VecD>(pivot + d)));
        pivot[a] = inverse;
    }
    entry = A;
    for (int a = 0; a < r; ++a)
        for (int c = a; c < r; ++c, ++entry) *entry = 0.5 * (M[a * R + c] + M[c * R + a]);
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
