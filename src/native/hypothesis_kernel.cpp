// The inner loops of the anomaly hypotheses, one object a lane. Compiled once per instruction set; see simd.hpp for the rules.
#include "hypothesis_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr double kLog2 = 0.69314718055994530942;
constexpr int L = Simd<double>::lanes;

BADAC_INLINE void lane_rows(int64_t start, int64_t last, int64_t* rows) {
    for (int lane = 0; lane < L; ++lane) rows[lane] = start + lane < last ? start + lane : last - 1;
}

BADAC_INLINE VecD gather(const double* array, int64_t width, const int64_t* rows, int64_t column) {
    double lanes[L];
    for (int lane = 0; lane < L; ++lane) lanes[lane] = array[rows[lane] * width + column];
    return load<VecD>(lanes);
}

void without(const WithoutArrays& in, int64_t first, int64_t last, double* scratch) {
    const int size = in.size, rest = size - in.columns, rest_packed = rest * (rest + 1) / 2;
    const VecD one = broadcast<VecD>(1.0), zero = broadcast<VecD>(0.0);
    VecD M[kMaxDeviation * (kMaxDeviation + 1) / 2], x[kMaxDeviation], scale[kMaxDeviation];
    VecD* sums = reinterpret_cast<VecD*>(scratch);
    for (int64_t start = first; start < last; start += L) {
        int64_t rows[L];
        lane_rows(start, last, rows);
        for (int a = 0; a < size; ++a) {
            scale[a] = a < in.columns ? gather(in.amplitude, in.columns, rows, a) : one;
            x[a] = gather(in.shift, in.all, rows, in.chosen[a]) * scale[a];
        }
        for (int e = 0; e < in.used_count; ++e) sums[e] = gather(in.sums, in.sums_width, rows, in.used[e]);
        VecD* entry = M;
        const int32_t *one_of_them = in.first, *other = in.second;
        for (int a = 0; a < size; ++a)
            for (int c = a; c < size; ++c, ++entry, ++one_of_them, ++other) {
                VecD value = sums[*one_of_them];
                if (*other >= 0) value = value + sums[*other];
                // In units of their prior the deviation's dimensions have the prior N(0, I).
                if (a < in.columns) value = value * scale[a] * scale[c];
                if (a == c && a < in.columns) value = value + one;
                *entry = value;
            }
        VecD offset = gather(in.offset, 1, rows, 0), exponent = zero, product = one;
        VecD* row = M;
        int a = 0;
        // Two pivots and two rows at a time: half the loads and stores of one by one, and the same sums in the same order.
        for (; a + 1 < in.columns; a += 2) {
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
        if (a < in.columns) {
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
        for (int lane = 0; lane < L && start + lane < last; ++lane) {
            const int64_t i = start + lane;
            in.out_offset[i] = offset[lane];
            for (int a = 0; a < rest; ++a) in.out_shift[i * rest + a] = x[in.columns + a][lane];
            for (int e = 0; e < rest_packed; ++e) in.out_precision[i * rest_packed + e] = row[e][lane];
        }
    }
}

// M (upper triangle) becomes U with M = U' D U, U's diagonal of ones left out of account; x becomes U'^-1 x.
BADAC_INLINE void decompose(VecD* M, VecD* x, VecD* inverse, int r) {
    VecD* row = M;
    for (int a = 0; a < r; ++a) {
        inverse[a] = broadcast<VecD>(1.0) / row[0];
        VecD* below = row + (r - a);
        for (int c = a + 1; c < r; ++c) {
            const VecD f = row[c - a] * (broadcast<VecD>(0.0) - inverse[a]);
            x[c] = fma(f, x[a], x[c]);
            for (int d = c; d < r; ++d) below[d - c] = fma(f, row[d - a], below[d - c]);
            below += r - c;
        }
        for (int c = a + 1; c < r; ++c) row[c - a] = row[c - a] * inverse[a];
        row += r - a;
    }
}

// The largest exponent first, then the sum: the mean over the bumps that can be told. Those that cannot have a negative square.
BADAC_INLINE void average(const BumpArrays& in, const VecD* squared, int64_t start, int64_t last, int asked) {
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0), half = broadcast<VecD>(0.5 * in.shrink), told = broadcast<VecD>(-0.5);
    VecD best = zero, count = zero, sum = zero, more = zero;
    for (int b = 0; b < in.bumps; ++b) {
        count = count + select(greater(squared[b], told), one, zero);
        best = larger(squared[b], best);
    }
    // Two sums: an exponential waits for nothing but itself.
    int b = 0;
    for (; b + 1 < in.bumps; b += 2) {
        sum = sum + select(greater(squared[b], told), exp_negative(VecD(half * (squared[b] - best))), zero);
        more = more + select(greater(squared[b + 1], told), exp_negative(VecD(half * (squared[b + 1] - best))), zero);
    }
    if (b < in.bumps) sum = sum + select(greater(squared[b], told), exp_negative(VecD(half * (squared[b] - best))), zero);
    sum = sum + more;
    for (int lane = 0; lane < L && start + lane < last; ++lane)
        in.out[(start + lane) * in.asked + asked] =
            count[lane] > 0.0 ? 0.5 * in.shrink * best[lane] + log(sum[lane] / count[lane]) : NAN;
}

static_assert(kMaxAsked == 2, "bump chooses between one and two");

// One pass over the points of a bump makes all its sums, which do not wait for each other; then each component takes away what
// it explains. What can be told is known when all bumps have been seen.
template <int RANK, int ASKED>
void bump_rank(const BumpArrays& in, int64_t first, int64_t last, double* scratch) {
    constexpr int kRank = RANK > 0 ? RANK : kMaxBumpRank;
    constexpr int kPacked = kRank * (kRank + 1) / 2;
    const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2, m = in.m;
    const VecD zero = broadcast<VecD>(0.0);
    VecD M[ASKED][kPacked], x[kRank], inverse[ASKED][kRank], mean[kRank], product[kRank], solved[kRank];
    VecD* weight = reinterpret_cast<VecD*>(scratch);
    VecD *scaled = weight + m, *pulled = scaled + m, *signals = pulled + ASKED * m, *precisions = signals + ASKED * in.bumps;
    Attention attention;
    for (int64_t start = first; start < last; start += L) {
        int64_t rows[L];
        lane_rows(start, last, rows);
        attention.spent(4 * m);
        for (int j = 0; j < m; ++j) weight[j] = gather(in.weight, m, rows, j), scaled[j] = gather(in.scaled, m, rows, j);
        for (int c = 0; c < ASKED; ++c) {
            int64_t own[L];
            for (int lane = 0; lane < L; ++lane) own[lane] = in.which[rows[lane] * ASKED + c];
            for (int e = 0; e < p; ++e) M[c][e] = gather(in.precision, p, rows, e) + gather(in.component_precision, p, own, e);
            for (int a = 0; a < r; ++a) x[a] = gather(in.shift, r, rows, a) + gather(in.component_shift, r, own, a);
            attention.spent(int64_t(r) * p + int64_t(m) * (r + 1));
            decompose(M[c], x, inverse[c], r);
            const VecD* row = M[c] + p;
            for (int a = r - 1; a >= 0; --a) {
                row -= r - a;
                mean[a] = x[a] * inverse[c][a];
                for (int d = a + 1; d < r; ++d) mean[a] = mean[a] - row[d - a] * mean[d];
            }
            for (int j = 0; j < m; ++j) {
                VecD expected = zero;
                BADAC_UNROLL for (int a = 0; a < r; ++a) expected = fma(broadcast<VecD>(in.factors[j * r + a]), mean[a], expected);
                pulled[j * ASKED + c] = fma(VecD(zero - weight[j]), expected, scaled[j]);
            }
        }
        VecD most = zero;
        for (int b = 0; b < in.bumps; ++b) {
            const double* height = in.height + in.begin[b];
            const int begin = in.first[b], length = in.length[b];
            attention.spent(int64_t(length) * (r + ASKED + 1) + int64_t(ASKED) * (p + 20));
            VecD itself = zero, signal[ASKED];
            BADAC_UNROLL for (int c = 0; c < ASKED; ++c) signal[c] = zero;
            BADAC_UNROLL for (int a = 0; a < r; ++a) product[a] = zero;
            for (int j = 0; j < length; ++j) {
                const VecD high = broadcast<VecD>(height[j]), seen = high * weight[begin + j];
                const double* factors = in.factors + size_t(begin + j) * r;
                itself = fma(high, seen, itself);
                BADAC_UNROLL for (int c = 0; c < ASKED; ++c) signal[c] = fma(high, pulled[size_t(begin + j) * ASKED + c], signal[c]);
                BADAC_UNROLL for (int a = 0; a < r; ++a) product[a] = fma(seen, broadcast<VecD>(factors[a]), product[a]);
            }
            most = larger(itself, most);
            BADAC_UNROLL for (int c = 0; c < ASKED; ++c) {
                VecD precision = itself;
                BADAC_UNROLL for (int a = 0; a < r; ++a) solved[a] = product[a];
                const VecD* row = M[c];
                BADAC_UNROLL for (int a = 0; a < r; ++a) {
                    const VecD minus = zero - solved[a];
                    precision = fma(VecD(minus * inverse[c][a]), solved[a], precision);
                    BADAC_UNROLL for (int d = a + 1; d < r; ++d) solved[d] = fma(row[d - a], minus, solved[d]);
                    row += r - a;
                }
                signals[c * in.bumps + b] = signal[c], precisions[c * in.bumps + b] = precision;
            }
        }
        // A bump that the class itself explains, or at missing points, has nothing left that could be seen.
        const VecD least = most * broadcast<VecD>(1e-6);
        for (int c = 0; c < ASKED; ++c) {
            attention.spent(20 * int64_t(in.bumps));
            VecD *signal = signals + c * in.bumps, *precision = precisions + c * in.bumps;
            for (int b = 0; b < in.bumps; ++b) {
                const IntD told = greater(precision[b], least);
                const VecD safe = select(told, precision[b], broadcast<VecD>(1.0));
                if (in.shrink > 0.0) {
                    signal[b] = select(told, VecD(signal[b] * signal[b] / safe), broadcast<VecD>(-1.0));
                    continue;
                }
                for (int lane = 0; lane < L && start + lane < last; ++lane)
                    in.out[((start + lane) * ASKED + c) * in.bumps + b] = told[lane] ? signal[b][lane] / sqrt(safe[lane]) : NAN;
            }
            if (in.shrink > 0.0) average(in, signal, start, last, c);
        }
    }
}

void bump(const BumpArrays& in, int64_t first, int64_t last, double* scratch) {
    switch (in.r) {
#define BADAC_RANK(R)                                       \
    case R:                                                 \
        return in.asked == 1 ? bump_rank<R, 1>(in, first, last, scratch) : bump_rank<R, 2>(in, first, last, scratch);
        BADAC_RANK(1) BADAC_RANK(2) BADAC_RANK(3) BADAC_RANK(4) BADAC_RANK(5) BADAC_RANK(6) BADAC_RANK(7) BADAC_RANK(8)
        BADAC_RANK(9) BADAC_RANK(10) BADAC_RANK(11) BADAC_RANK(12)
#undef BADAC_RANK
        default:
            return in.asked == 1 ? bump_rank<0, 1>(in, first, last, scratch) : bump_rank<0, 2>(in, first, last, scratch);
    }
}

const HypothesisKernels kTable = {L, without, bump};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const HypothesisKernels* BADAC_JOIN(hypothesis_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
