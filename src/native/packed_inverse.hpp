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
    double M[kMost * kMost], column[kMost];
    double* entry = A;
    for (int a = 0; a < r; ++a)
        for (int c = a; c < r; ++c, ++entry) M[a * r + c] = M[c * r + a] = *entry + (a == c ? 1.0 : 0.0);
    for (int a = 0; a < r; ++a) {
        const double inverse = 1.0 / M[a * r + a];
        for (int c = 0; c < r; ++c) column[c] = M[c * r + a];
        for (int c = 0; c < r; ++c) {
            if (c == a) continue;
            const double f = column[c] * inverse;
            for (int d = 0; d < r; ++d) M[c * r + d] -= f * M[a * r + d];
            M[c * r + a] = -f;
        }
        for (int d = 0; d < r; ++d) M[a * r + d] *= inverse;
        M[a * r + a] = inverse;
    }
    entry = A;
    for (int a = 0; a < r; ++a)
        for (int c = a; c < r; ++c, ++entry) *entry = 0.5 * (M[a * r + c] + M[c * r + a]);
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
