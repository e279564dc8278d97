// Some of the dimensions of L objects' likelihoods integrated out, one object a lane. For kernel sources only, one copy in each (see
// simd.hpp).
#pragma once
#include "latent_lanes.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// Put the precision of `size` dimensions together: each entry of the upper triangle is one of the sums, or the sum of two, `stride` vectors
// apart. In units of their prior, `scale`, the first `columns` dimensions have the prior N(0, I).
BADAC_INLINE void put_together(const VecD* sums, int stride, const int32_t* first, const int32_t* second, const VecD* scale, int columns,
                               int size, VecD* M) {
    const VecD one = broadcast<VecD>(1.0);
    VecD* entry = M;
    for (int a = 0; a < size; ++a)
        for (int c = a; c < size; ++c, ++entry, ++first, ++second) {
            VecD value = sums[*first * stride];
            if (*second >= 0) value = value + sums[*second * stride];
            if (a < columns) value = value * scale[a] * scale[c];
            if (a == c && a < columns) value = value + one;
            *entry = value;
        }
}

// Eliminate the first `columns` of `size` dimensions from M (upper triangle), x and the offset; the place of what is left of M.
inline VecD* integrate_out(VecD* M, VecD* x, int columns, int size, VecD& offset) {
    const VecD one = broadcast<VecD>(1.0), zero = broadcast<VecD>(0.0);
    VecD exponent = zero, product = one;
    VecD* row = M;
    int a = 0;
    // Two pivots and two rows at a time: half the loads and stores of one by one, and the same sums in the same order.
    for (; a + 1 < columns; a += 2) {
        VecD* next = row + (size - a);
        const VecD minus = zero - one / row[0], f = row[1] * minus;
        product = take_exponent<double>(VecD(product * row[0]), exponent);
        offset = fma(VecD(x[a] * minus), x[a], offset);
        x[a + 1] = fma(f, x[a], x[a + 1]);
        for (int d = a + 1; d < size; ++d) next[d - a - 1] = fma(f, row[d - a], next[d - a - 1]);
        const VecD next_minus = zero - one / next[0];
        product = take_exponent<double>(VecD(product * next[0]), exponent);
        offset = fma(VecD(x[a + 1] * next_minus), x[a + 1], offset);
        VecD* below = next + (size - a - 1);
        int c = a + 2;
        for (; c + 1 < size; c += 2) {
            VecD* other = below + (size - c);
            const VecD f0 = row[c - a] * minus, f1 = next[c - a - 1] * next_minus;
            const VecD g0 = row[c - a + 1] * minus, g1 = next[c - a] * next_minus;
            x[c] = fma(f1, x[a + 1], fma(f0, x[a], x[c]));
            x[c + 1] = fma(g1, x[a + 1], fma(g0, x[a], x[c + 1]));
            below[0] = fma(f1, next[c - a - 1], fma(f0, row[c - a], below[0]));
            const VecD *first_row = row - a, *second_row = next - a - 1;
            VecD *above = below - c, *under = other - c - 1;
            for (int d = c + 1; d < size; ++d) {
                const VecD one_entry = first_row[d], other_entry = second_row[d];
                above[d] = fma(f1, other_entry, fma(f0, one_entry, above[d]));
                under[d] = fma(g1, other_entry, fma(g0, one_entry, under[d]));
            }
            below = other + (size - c - 1);
        }
        if (c < size) {  // the last row has one entry
            const VecD f0 = row[c - a] * minus, f1 = next[c - a - 1] * next_minus;
            x[c] = fma(f1, x[a + 1], fma(f0, x[a], x[c]));
            below[0] = fma(f1, next[c - a - 1], fma(f0, row[c - a], below[0]));
        }
        row = next + (size - a - 1);
    }
    if (a < columns) {
        const VecD minus = zero - one / row[0];
        product = take_exponent<double>(VecD(product * row[0]), exponent);
        offset = fma(VecD(x[a] * minus), x[a], offset);
        VecD* below = row + (size - a);
        for (int c = a + 1; c < size; ++c) {
            const VecD f = row[c - a] * minus;
            x[c] = fma(f, x[a], x[c]);
            for (int d = c; d < size; ++d) below[d - c] = fma(f, row[d - a], below[d - c]);
            below += size - c;
        }
        row += size - a;
    }
    offset = offset + fma(exponent, broadcast<VecD>(kLog2), log_mantissa(product));
    return row;
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
