// The inner loops of the anomaly hypotheses, one object a lane. Compiled once per instruction set; see simd.hpp for the rules.
#include "hypothesis_kernel.hpp"

#include <math.h>

#include "grid_lanes.hpp"
#include "heed.hpp"
#include "integrate_out.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

BADAC_INLINE void lane_rows(int64_t start, int64_t last, int64_t* rows) {
    for (int lane = 0; lane < L; ++lane) rows[lane] = start + lane < last ? start + lane : last - 1;
}

void without(const WithoutArrays& in, int64_t first, int64_t last, double* scratch) {
    const int size = in.size, rest = size - in.columns, rest_packed = rest * (rest + 1) / 2;
    const VecD one = broadcast<VecD>(1.0);
    VecD M[kMaxDeviation * (kMaxDeviation + 1) / 2], x[kMaxDeviation], scale[kMaxDeviation];
    VecD* sums = reinterpret_cast<VecD*>(scratch);
    for (int64_t start = first; start < last; start += L) {
        int64_t rows[L];
        lane_rows(start, last, rows);
        for (int a = 0; a < size; ++a) {
            scale[a] = a < in.columns ? in_lanes(in.amplitude, in.columns, rows, a) : one;
            x[a] = in_lanes(in.shift, in.all, rows, in.chosen[a]) * scale[a];
        }
        for (int e = 0; e < in.used_count; ++e) sums[e] = in_lanes(in.sums, in.sums_width, rows, in.used[e]);
        put_together(sums, 1, in.first, in.second, scale, in.columns, size, M);
        VecD offset = in_lanes(in.offset, 1, rows, 0);
        const VecD* row = integrate_out(M, x, in.columns, size, offset);
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

// Log of the mean of exp(shrink square / 2) over the bumps that can be told, times the root of 1 - shrink; 0 where none can. Squares of
// those that cannot are negative. The largest exponent first, then the sum.
BADAC_INLINE VecD average(const BumpArrays& in, const VecD* squared) {
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0), half = broadcast<VecD>(0.5 * in.shrink), told = broadcast<VecD>(-0.5);
    VecD best = zero, count = zero, sum = zero, more = zero;
    for (int b = 0; b < in.bumps; ++b) {
        count = count + select(greater(squared[b], told), one, zero);
        best = larger(squared[b], best);
    }
    // Four at once, two sums: an exponential waits for nothing but itself.
    int b = 0;
    for (; b + 4 <= in.bumps; b += 4) {
        VecD part[4];
        BADAC_UNROLL for (int i = 0; i < 4; ++i) part[i] = half * (squared[b + i] - best);
        exp_negative_of(part);
        BADAC_UNROLL for (int i = 0; i < 4; ++i) part[i] = select(greater(squared[b + i], told), part[i], zero);
        sum = sum + (part[0] + part[1]), more = more + (part[2] + part[3]);
    }
    for (; b < in.bumps; ++b) sum = sum + select(greater(squared[b], told), exp_negative(VecD(half * (squared[b] - best))), zero);
    const VecD mean = larger(VecD(sum + more), broadcast<VecD>(1e-300)) / larger(count, one);
    const VecD found = fma(half, best, log_positive(mean)) + broadcast<VecD>(0.5 * log1p(-in.shrink));
    double lanes[L];
    for (int lane = 0; lane < L; ++lane) lanes[lane] = count[lane] > 0.0 ? found[lane] : 0.0;
    return load<VecD>(lanes);
}

static_assert(kMaxAsked == 2, "bump chooses between one and two");

// One pass over the points of a bump makes all its sums, which do not wait for each other; then each component takes away what
// it explains. What can be told is known when all bumps have been seen.
template <int RANK, int ASKED>
void bump_rank(const BumpArrays& in, int64_t first, int64_t last, double* scratch) {
    constexpr int kRank = RANK > 0 ? RANK : kMaxBumpRank;
    constexpr int kPacked = kRank * (kRank + 1) / 2;
    const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2, m = in.points.m;
    const VecD zero = broadcast<VecD>(0.0);
    VecD M[ASKED][kPacked], x[kRank], inverse[ASKED][kRank], mean[kRank], product[kRank], solved[kRank], averages[ASKED];
    VecD* weight = reinterpret_cast<VecD*>(scratch);
    VecD *scaled = weight + m, *pulled = scaled + m, *signals = pulled + ASKED * m, *precisions = signals + ASKED * in.bumps;
    Attention attention;
    for (int64_t start = first; start < last; start += L) {
        int64_t asked[L], rows[L];
        LaneSums unused;
        lane_rows(start, last, asked);
        lane_rows(in.points, start, last, rows);
        attention.spent(20 * m);
        weigh_lanes<false>(in.points, rows, 1, weight, scaled, unused);
        for (int c = 0; c < ASKED; ++c) {
            int64_t own[L];
            for (int lane = 0; lane < L; ++lane) own[lane] = in.which[asked[lane] * ASKED + c];
            for (int e = 0; e < p; ++e) M[c][e] = in_lanes(in.precision, p, rows, e) + in_lanes(in.component_precision, p, own, e);
            for (int a = 0; a < r; ++a) x[a] = in_lanes(in.shift, r, rows, a) + in_lanes(in.component_shift, r, own, a);
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
        for (int c = 0; c < ASKED; ++c) averages[c] = zero;
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
            if (in.shrink > 0.0) averages[c] = average(in, signal);
        }
        if (in.shrink > 0.0) {
            VecD shared[ASKED], top = broadcast<VecD>(-HUGE_VAL), sum = zero;
            for (int c = 0; c < ASKED; ++c) {
                shared[c] = averages[c] + in_lanes(in.log_share, ASKED, asked, c);
                top = larger(shared[c], top);
            }
            for (int c = 0; c < ASKED; ++c) sum = sum + exp_negative(VecD(shared[c] - top));
            const VecD found = top + log_positive(sum);
            for (int lane = 0; lane < L && start + lane < last; ++lane) in.out[start + lane] = found[lane];
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
