// How well objects match the components of a mixture in the latent space, one object a lane. For kernel sources only, one copy in each (see
// simd.hpp).
#pragma once
#include "heed.hpp"
#include "latent_kernel.hpp"
#include "latent_lanes.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// The posterior precision M and shift x of L objects under component k.
template <int RANK>
BADAC_INLINE void meet(const LatentArrays& in, int64_t k, const VecD* A, const VecD* b, VecD* M, VecD* x) {
    const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2;
    const double *own = in.component_precision + k * p, *pull = in.component_shift + k * r;
    BADAC_UNROLL for (int e = 0; e < p; ++e) M[e] = A[e] + broadcast<VecD>(own[e]);
    BADAC_UNROLL for (int a = 0; a < r; ++a) x[a] = b[a] + broadcast<VecD>(pull[a]);
}

// Multiply-adds of one match; see latent.cpp.
BADAC_INLINE int64_t cost_of_match(const LatentArrays& in) { return int64_t(in.r) * in.p / 3 + in.p + 20; }

template <int RANK>
BADAC_INLINE VecD match_of(const LatentArrays& in, int64_t k, const VecD* A, const VecD* b) {
    constexpr int kRank = RANK > 0 ? RANK : kMaxRank;
    VecD M[kRank * (kRank + 1) / 2], x[kRank], quadratic, log_det;
    meet<RANK>(in, k, A, b, M, x);
    eliminate<RANK>(M, x, in.r, quadratic, log_det);
    return fma(broadcast<VecD>(0.5), VecD(quadratic - log_det), broadcast<VecD>(in.log_constant[k]));
}

// N components at once, the same numbers: a pivot's division is waited for once, not N times.
template <int RANK, int N>
BADAC_INLINE void matches_of(const LatentArrays& in, const int64_t* which, const VecD* A, const VecD* b, VecD* match) {
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0);
    VecD M[N][RANK * (RANK + 1) / 2], x[N][RANK], quadratic[N], product[N], exponent[N], minus[N];
    BADAC_UNROLL for (int n = 0; n < N; ++n) {
        meet<RANK>(in, which[n], A, b, M[n], x[n]);
        quadratic[n] = exponent[n] = zero, product[n] = one;
    }
    int row = 0;
    BADAC_UNROLL for (int a = 0; a < RANK; ++a) {
        BADAC_UNROLL for (int n = 0; n < N; ++n) {
            const VecD pivot = M[n][row], inverse = one / pivot, scaled = x[n][a] * inverse;
            minus[n] = zero - inverse;
            product[n] = take_exponent<double>(VecD(product[n] * pivot), exponent[n]);
            quadratic[n] = fma(x[n][a], scaled, quadratic[n]);
        }
        int below = row + RANK - a;
        BADAC_UNROLL for (int c = a + 1; c < RANK; ++c) {
            BADAC_UNROLL for (int n = 0; n < N; ++n) {
                const VecD f = M[n][row + c - a] * minus[n];
                x[n][c] = fma(f, x[n][a], x[n][c]);
                BADAC_UNROLL for (int d = c; d < RANK; ++d) M[n][below + d - c] = fma(f, M[n][row + d - a], M[n][below + d - c]);
            }
            below += RANK - c;
        }
        row += RANK - a;
    }
    BADAC_UNROLL for (int n = 0; n < N; ++n) {
        const VecD log_det = fma(exponent[n], broadcast<VecD>(kLog2), log_mantissa(product[n]));
        match[n] = fma(broadcast<VecD>(0.5), VecD(quadratic[n] - log_det), broadcast<VecD>(in.log_constant[which[n]]));
    }
}

// How many components at once: larger matrices have enough to do between two divisions.
template <int RANK>
constexpr int kTogether = RANK == 0 || RANK > 6 ? 1 : 2;

// Matches of L objects with one component after the other, some of them at once, as vectors one after the other.
template <int RANK>
class Matches {
  public:
    Matches(const LatentArrays& in, const VecD* A, const VecD* b, Attention& attention, double* out)
        : in_(in), A_(A), b_(b), attention_(attention), out_(out) {}

    BADAC_INLINE void add(int64_t k) {
        attention_.spent(cost_of_match(in_));
        if constexpr (N > 1) {
            which_[waiting_++] = k;
            if (waiting_ < N) return;
            VecD match[N];
            matches_of<RANK, N>(in_, which_, A_, b_, match);
            for (int n = 0; n < N; ++n) put(match[n]);
            waiting_ = 0;
        } else {
            put(match_of<RANK>(in_, k, A_, b_));
        }
    }
    // To be called after the last one; returns how many there are.
    BADAC_INLINE int64_t end() {
        for (int n = 0; n < waiting_; ++n) put(match_of<RANK>(in_, which_[n], A_, b_));
        return count_;
    }

  private:
    static constexpr int N = kTogether<RANK>;
    BADAC_INLINE void put(const VecD& match) { store(out_ + count_++ * L, match); }

    const LatentArrays& in_;
    const VecD *A_, *b_;
    Attention& attention_;
    double* out_;
    int64_t which_[N], count_ = 0;
    int waiting_ = 0;
};

// All matches of L objects, one vector after the other.
template <int RANK>
BADAC_INLINE void all_matches(const LatentArrays& in, const VecD* A, const VecD* b, Attention& attention, double* out) {
    Matches<RANK> matches(in, A, b, attention, out);
    for (int64_t k = 0; k < in.k; ++k) matches.add(k);
    matches.end();
}

// Matches become shares of their sum; the log of the sum.
BADAC_INLINE VecD normalise(double* match, int64_t count) {
    VecD top = load<VecD>(match), total = broadcast<VecD>(0.0);
    for (int64_t j = 1; j < count; ++j) top = larger(top, load<VecD>(match + j * L));
    for (int64_t j = 0; j < count; ++j) {
        const VecD share = exp_negative(VecD(load<VecD>(match + j * L) - top));
        total = total + share;
        store(match + j * L, share);
    }
    const VecD scale = broadcast<VecD>(1.0) / total;
    for (int64_t j = 0; j < count; ++j) store(match + j * L, VecD(load<VecD>(match + j * L) * scale));
    return top + log_positive(total);
}

// The log of the sum of matches, as `normalise` has it.
BADAC_INLINE VecD log_sum(const double* match, int64_t count) {
    VecD top = load<VecD>(match), total = broadcast<VecD>(0.0);
    for (int64_t j = 1; j < count; ++j) top = larger(top, load<VecD>(match + j * L));
    for (int64_t j = 0; j < count; ++j) total = total + exp_negative(VecD(load<VecD>(match + j * L) - top));
    return top + log_positive(total);
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
