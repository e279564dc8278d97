// Small symmetric matrices, one object a lane: the upper triangle row by row, p = r (r + 1) / 2 vectors.
//
// RANK is the rank if it is known when compiling, else 0.
#pragma once
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr double kLog2 = 0.69314718055994530942;
constexpr int L = Simd<double>::lanes;

// Bring rows list[0..L) of a (., width) array into lanes.
BADAC_INLINE void gather(const double* rows, int width, const int64_t* list, VecD* out) {
    for (int e = 0; e < width; ++e) {
        double lanes[L];
        for (int lane = 0; lane < L; ++lane) lanes[lane] = rows[list[lane] * width + e];
        out[e] = load<VecD>(lanes);
    }
}

// log x of positive normal x.
BADAC_INLINE VecD log_positive(const VecD& x) {
    VecD exponent = broadcast<VecD>(0.0);
    const VecD mantissa = take_exponent<double>(x, exponent);
    return fma(exponent, broadcast<VecD>(kLog2), log_mantissa(mantissa));
}

// Eliminate M and x along: x'M^-1 x and log det M.
template <int RANK>
BADAC_INLINE void eliminate(VecD* M, VecD* x, int rank, VecD& quadratic, VecD& log_det) {
    const int r = RANK > 0 ? RANK : rank;
    VecD exponent = broadcast<VecD>(0.0), product = broadcast<VecD>(1.0);
    quadratic = broadcast<VecD>(0.0);
    VecD* row = M;
    BADAC_UNROLL for (int a = 0; a < r; ++a) {
        const VecD inverse = broadcast<VecD>(1.0) / row[0], scaled = x[a] * inverse, minus = broadcast<VecD>(0.0) - inverse;
        product = take_exponent<double>(VecD(product * row[0]), exponent);
        quadratic = fma(x[a], scaled, quadratic);
        VecD* below = row + (r - a);
        BADAC_UNROLL for (int c = a + 1; c < r; ++c) {
            const VecD f = row[c - a] * minus;
            x[c] = fma(f, x[a], x[c]);
            BADAC_UNROLL for (int d = c; d < r; ++d) below[d - c] = fma(f, row[d - a], below[d - c]);
            below += r - c;
        }
        row += r - a;
    }
    log_det = fma(exponent, broadcast<VecD>(kLog2), log_mantissa(product));
}

// The place of element (a, c) in a packed matrix.
BADAC_INLINE int place(int r, int a, int c) { return a <= c ? a * r - a * (a - 1) / 2 + (c - a) : c * r - c * (c - 1) / 2 + (a - c); }

// M becomes M^-1 by sweeping every pivot, mean = M^-1 x; log det M.
template <int RANK>
BADAC_INLINE void invert(VecD* M, const VecD* x, int rank, VecD* mean, VecD& log_det) {
    const int r = RANK > 0 ? RANK : rank, p = r * (r + 1) / 2;
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0);
    VecD exponent = zero, product = one, column[RANK > 0 ? RANK : 48];
    BADAC_UNROLL for (int a = 0; a < r; ++a) {
        const VecD pivot = M[place(r, a, a)], inverse = one / pivot, minus = zero - inverse;
        product = take_exponent<double>(VecD(product * pivot), exponent);
        BADAC_UNROLL for (int c = 0; c < r; ++c) column[c] = M[place(r, a, c)];
        VecD* entry = M;
        BADAC_UNROLL for (int c = 0; c < r; ++c) {
            const VecD f = column[c] * minus;
            BADAC_UNROLL for (int d = c; d < r; ++d, ++entry) *entry = fma(f, column[d], *entry);
        }
        BADAC_UNROLL for (int c = 0; c < r; ++c) M[place(r, a, c)] = column[c] * inverse;
        M[place(r, a, a)] = minus;
    }
    log_det = fma(exponent, broadcast<VecD>(kLog2), log_mantissa(product));
    for (int e = 0; e < p; ++e) M[e] = zero - M[e];
    for (int a = 0; a < r; ++a) mean[a] = zero;
    const VecD* entry = M;
    for (int a = 0; a < r; ++a) {
        mean[a] = fma(*entry++, x[a], mean[a]);
        for (int c = a + 1; c < r; ++c, ++entry) mean[a] = fma(*entry, x[c], mean[a]), mean[c] = fma(*entry, x[a], mean[c]);
    }
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac

// The ranks that get code of their own.
#define BADAC_RANKS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
