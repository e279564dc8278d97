// The inner loops of the latent kernels, one object a lane. Compiled once per instruction set; see simd.hpp for the rules.
#include "latent_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "latent_matches.hpp"
#include "weighing.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// L objects from `start` on; lanes beyond `last` repeat the last object.
template <int RANK>
BADAC_INLINE void bring(const LatentArrays& in, int64_t start, int64_t last, VecD* A, VecD* b) {
    const int r = RANK > 0 ? RANK : in.r;
    int64_t rows[L];
    for (int lane = 0; lane < L; ++lane) rows[lane] = start + lane < last ? start + lane : last - 1;
    gather(in.precision, r * (r + 1) / 2, rows, A);
    gather(in.shift, r, rows, b);
}

template <int RANK>
struct Latent {
    static constexpr int kRank = RANK > 0 ? RANK : kMaxRank, kPacked = kRank * (kRank + 1) / 2;

    static void log_match(const LatentArrays& in, int64_t first, int64_t last, double* scratch, double* out) {
        Attention attention;
        VecD A[kPacked], b[kRank];
        for (int64_t start = first; start < last; start += L) {
            bring<RANK>(in, start, last, A, b);
            all_matches<RANK>(in, A, b, attention, scratch);
            for (int lane = 0; lane < L && start + lane < last; ++lane)
                for (int64_t k = 0; k < in.k; ++k) out[(start + lane) * in.k + k] = scratch[k * L + lane];
        }
    }

    static void log_evidence(const LatentArrays& in, int64_t first, int64_t last, double* scratch, double* out) {
        Attention attention;
        VecD A[kPacked], b[kRank];
        for (int64_t start = first; start < last; start += L) {
            bring<RANK>(in, start, last, A, b);
            all_matches<RANK>(in, A, b, attention, scratch);
            const VecD evidence = log_sum(scratch, in.k);
            for (int lane = 0; lane < L && start + lane < last; ++lane) out[start + lane] = evidence[lane];
        }
    }

    static void responsible(const LatentArrays& in, int count, int64_t first, int64_t last, double* scratch, double* out, int64_t* which,
                            double* match) {
        Attention attention;
        const VecD zero = broadcast<VecD>(0.0), lowest = broadcast<VecD>(-HUGE_VAL), nothing = broadcast<VecD>(-1.0);
        VecD A[kPacked], b[kRank];
        for (int64_t start = first; start < last; start += L) {
            bring<RANK>(in, start, last, A, b);
            // The two largest and their places, the first of equal ones; a match that is no number makes the sum none.
            VecD top = lowest, second = lowest, top_at = nothing, second_at = nothing, total = zero, more = zero, poison = zero;
            all_matches<RANK>(in, A, b, attention, scratch);
            for (int64_t k = 0; k < in.k; ++k) {
                const VecD found = load<VecD>(scratch + k * L), at = broadcast<VecD>(double(k));
                poison = select(greater(VecD(found * found), nothing), poison, found);
                const auto first_of_all = greater(found, top);
                const auto at_least_second = greater(found, second);
                second_at = select(first_of_all, top_at, select(at_least_second, at, second_at));
                second = select(first_of_all, top, select(at_least_second, found, second));
                top_at = select(first_of_all, at, top_at), top = select(first_of_all, found, top);
            }
            int64_t k = 0;
            for (; k + 1 < in.k; k += 2) {
                total = total + exp_negative(VecD(load<VecD>(scratch + k * L) - top));
                more = more + exp_negative(VecD(load<VecD>(scratch + (k + 1) * L) - top));
            }
            if (k < in.k) total = total + exp_negative(VecD(load<VecD>(scratch + k * L) - top));
            const VecD evidence = top + log_positive(VecD(total + more)) + poison;
            for (int lane = 0; lane < L && start + lane < last; ++lane) {
                const int64_t i = start + lane;
                out[i] = evidence[lane];
                // Where matches are all alike in being none, the first ones stand for them.
                const int64_t one = top_at[lane] < 0.0 ? 0 : int64_t(top_at[lane]);
                int64_t other = int64_t(second_at[lane]);
                if (second_at[lane] < 0.0) other = one == 0 && in.k > 1 ? 1 : 0;
                which[i * count] = one, match[i * count] = top[lane];
                if (count > 1) which[i * count + 1] = other, match[i * count + 1] = second[lane];
            }
        }
    }

    static void posterior(const LatentArrays& in, int64_t first, int64_t last, double* covariance, double* mean, double* log_det) {
        const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2;
        VecD A[kPacked], b[kRank], M[kPacked], x[kRank], m[kRank], det;
        for (int64_t start = first; start < last; start += L) {
            bring<RANK>(in, start, last, A, b);
            meet<RANK>(in, 0, A, b, M, x);
            invert<RANK>(M, x, r, m, det);
            for (int lane = 0; lane < L && start + lane < last; ++lane) {
                const int64_t i = start + lane;
                for (int e = 0; e < p; ++e) covariance[i * p + e] = M[e][lane];
                for (int a = 0; a < r; ++a) mean[i * r + a] = m[a][lane];
                log_det[i] = det[lane];
            }
        }
    }

    static void moments(const LatentArrays& in, int64_t first, int64_t last, double* scratch, double* mean, double* covariance) {
        const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2;
        const VecD zero = broadcast<VecD>(0.0), few = broadcast<VecD>(kLeastShare);
        Attention attention;
        VecD A[kPacked], b[kRank], M[kPacked], x[kRank], m[kRank], middle[kRank], second[kPacked], log_det;
        for (int64_t start = first; start < last; start += L) {
            bring<RANK>(in, start, last, A, b);
            all_matches<RANK>(in, A, b, attention, scratch);
            normalise(scratch, in.k);
            for (int a = 0; a < r; ++a) middle[a] = zero;
            for (int e = 0; e < p; ++e) second[e] = zero;
            for (int64_t k = 0; k < in.k; ++k) {
                const VecD share = load<VecD>(scratch + k * L);
                if (!lanes_set(greater(share, few))) continue;
                attention.spent(2 * cost_of_match(in));
                const VecD w = select(greater(share, few), share, zero);
                meet<RANK>(in, k, A, b, M, x);
                invert<RANK>(M, x, r, m, log_det);
                for (int a = 0, e = 0; a < r; ++a) {
                    const VecD weighted = w * m[a];
                    middle[a] = middle[a] + weighted;
                    for (int c = a; c < r; ++c, ++e) second[e] = second[e] + fma(weighted, m[c], VecD(w * M[e]));
                }
            }
            for (int lane = 0; lane < L && start + lane < last; ++lane) {
                const int64_t i = start + lane;
                for (int a = 0, e = 0; a < r; ++a) {
                    mean[i * r + a] = middle[a][lane];
                    for (int c = a; c < r; ++c, ++e) covariance[i * p + e] = second[e][lane] - middle[a][lane] * middle[c][lane];
                }
            }
        }
    }

    static void step_shares(const LatentArrays& in, const StepArrays& step, int64_t first, int64_t last) {
        const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2;
        // What has a thousandth of the share that counts may have it after a few steps.
        const VecD few = broadcast<VecD>(1e-3) * broadcast<VecD>(step.threshold);
        VecD A[kPacked], b[kRank];
        Attention attention;
        for (int64_t start = first; start < last; start += L) {
            const int64_t vector = (start - step.origin) / L;
            uint8_t* near = step.near + start / kGroup * in.k;
            double *shares = step.shares + vector * in.k * L, *kept = step.objects + vector * (p + r) * L;
            bring<RANK>(in, start, last, A, b);
            for (int e = 0; e < p; ++e) store(kept + e * L, A[e]);
            for (int a = 0; a < r; ++a) store(kept + (p + a) * L, b[a]);
            Matches<RANK> matches(in, A, b, attention, shares);
            for (int64_t k = 0; k < in.k; ++k)
                if (step.refresh || near[k]) matches.add(k);
            int64_t listed = matches.end();
            attention.spent(in.k);
            if (step.refresh && start % kGroup == 0)
                for (int64_t k = 0; k < in.k; ++k) near[k] = 0;
            const VecD found = normalise(shares, listed);
            double present[L];
            for (int lane = 0; lane < L; ++lane) {
                present[lane] = start + lane < last ? 1.0 : 0.0;
                if (start + lane < last) step.evidence[start + lane] = found[lane];
            }
            const VecD counts = load<VecD>(present);
            // From the list to the components' own places, the last one first: none is overwritten before it has moved.
            for (int64_t k = in.k - 1; k >= 0; --k) {
                if (!step.refresh && !near[k]) continue;
                const VecD share = load<VecD>(shares + --listed * L) * counts;
                store(shares + k * L, share);
                if (step.refresh && lanes_set(greater(share, few))) near[k] = 1;
            }
        }
    }

    static void step_sums(const LatentArrays& in, const StepArrays& step, int64_t k, int64_t first, int64_t last) {
        const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2, width = 1 + r + 2 * p;
        const VecD few = broadcast<VecD>(step.threshold);
        double *count = step.sums + k * width * L, *mean = count + L, *second = mean + r * L, *spread = second + p * L;
        VecD A[kPacked], b[kRank], M[kPacked], x[kRank], m[kRank], log_det;
        for (int64_t start = first; start < last; start += L) {
            const int64_t vector = (start - step.origin) / L;
            if (!step.near[start / kGroup * in.k + k]) continue;
            const VecD share = load<VecD>(step.shares + (vector * in.k + k) * L);
            if (!lanes_set(greater(share, few))) continue;
            const double* kept = step.objects + vector * (p + r) * L;
            for (int e = 0; e < p; ++e) A[e] = load<VecD>(kept + e * L);
            for (int a = 0; a < r; ++a) b[a] = load<VecD>(kept + (p + a) * L);
            const VecD w = select(greater(share, few), share, broadcast<VecD>(0.0));
            meet<RANK>(in, k, A, b, M, x);
            invert<RANK>(M, x, r, m, log_det);
            store(count, VecD(load<VecD>(count) + w));
            int e = 0;
            for (int a = 0; a < r; ++a) {
                const VecD weighted = w * m[a];
                store(mean + a * L, VecD(load<VecD>(mean + a * L) + weighted));
                for (int c = a; c < r; ++c, ++e) {
                    const VecD covariance = w * M[e];
                    store(spread + e * L, VecD(load<VecD>(spread + e * L) + covariance));
                    store(second + e * L, VecD(load<VecD>(second + e * L) + fma(weighted, m[c], covariance)));
                }
            }
        }
    }

    static void left_out(const LatentArrays& in, const double* means, const double* count, int64_t first, int64_t last, double* scratch,
                         double* evidence) {
        const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2;
        const VecD one = broadcast<VecD>(1.0), zero = broadcast<VecD>(0.0), half = broadcast<VecD>(0.5);
        // A member that has so little of a component does not change what it says of it.
        const VecD some = broadcast<VecD>(1e-9);
        Attention attention;
        VecD A[kPacked], b[kRank], M[kPacked], x[kRank], m[kRank], pulled[kRank], scatter[kRank * kRank], log_det;
        for (int64_t start = first; start < last; start += L) {
            bring<RANK>(in, start, last, A, b);
            all_matches<RANK>(in, A, b, attention, scratch);
            const VecD with_it = normalise(scratch, in.k);
            VecD left = zero;
            for (int64_t k = 0; k < in.k; ++k) {
                const VecD share = load<VecD>(scratch + k * L), total = broadcast<VecD>(count[k]);
                if (!lanes_set(greater(share, some))) {
                    left = left + share;
                    continue;
                }
                VecD change = log_positive(larger(VecD(one - share / total), broadcast<VecD>(1e-3)));
                const auto counts = greater(share, broadcast<VecD>(1e-2));
                if (lanes_set(counts)) {
                    attention.spent(6 * cost_of_match(in));
                    meet<RANK>(in, k, A, b, M, x);
                    invert<RANK>(M, x, r, m, log_det);
                    const double* own = in.component_precision + k * p;
                    VecD moved = zero;
                    for (int a = 0; a < r; ++a) m[a] = m[a] - broadcast<VecD>(means[k * r + a]);
                    for (int a = 0; a < r; ++a) {
                        pulled[a] = zero;
                        for (int c = 0; c < r; ++c) pulled[a] = fma(broadcast<VecD>(own[place(r, a, c)]), m[c], pulled[a]);
                        moved = fma(m[a], pulled[a], moved);
                    }
                    for (int a = 0; a < r; ++a)
                        for (int c = 0; c < r; ++c) {
                            VecD sum = fma(m[a], pulled[c], a == c ? zero - one : zero);
                            for (int d = 0; d < r; ++d) sum = fma(M[place(r, a, d)], broadcast<VecD>(own[place(r, d, c)]), sum);
                            scatter[a * r + c] = sum;
                        }
                    VecD trace = zero;
                    for (int a = 0; a < r; ++a)
                        for (int c = 0; c < r; ++c) trace = fma(scatter[a * r + c], scatter[c * r + a], trace);
                    const VecD part = share / larger(VecD(total - share), one);
                    VecD cost = part * fma(half, trace, moved);
                    // min(cost, 20), where the share is more than a hundredth.
                    cost = zero - larger(VecD(zero - cost), broadcast<VecD>(-20.0));
                    change = change - select(counts, cost, zero);
                }
                left = fma(share, exp_negative(change), left);
            }
            const VecD found = with_it + log_positive(left);
            for (int lane = 0; lane < L && start + lane < last; ++lane) evidence[start + lane] = found[lane];
        }
    }
};

#define BADAC_RANK(R) \
    case R:           \
        return BADAC_CALL(R);
#define BADAC_BY_RANK                \
    switch (in.r) {                  \
        BADAC_RANKS(BADAC_RANK)      \
        default: return BADAC_CALL(0); \
    }

void log_match(const LatentArrays& in, int64_t first, int64_t last, double* scratch, double* out) {
#define BADAC_CALL(R) Latent<R>::log_match(in, first, last, scratch, out)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void log_evidence(const LatentArrays& in, int64_t first, int64_t last, double* scratch, double* out) {
#define BADAC_CALL(R) Latent<R>::log_evidence(in, first, last, scratch, out)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void responsible(const LatentArrays& in, int count, int64_t first, int64_t last, double* scratch, double* out, int64_t* which,
                 double* match) {
#define BADAC_CALL(R) Latent<R>::responsible(in, count, first, last, scratch, out, which, match)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void posterior(const LatentArrays& in, int64_t first, int64_t last, double* covariance, double* mean, double* log_det) {
#define BADAC_CALL(R) Latent<R>::posterior(in, first, last, covariance, mean, log_det)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void moments(const LatentArrays& in, int64_t first, int64_t last, double* scratch, double* mean, double* covariance) {
#define BADAC_CALL(R) Latent<R>::moments(in, first, last, scratch, mean, covariance)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void step_shares(const LatentArrays& in, const StepArrays& step, int64_t first, int64_t last) {
#define BADAC_CALL(R) Latent<R>::step_shares(in, step, first, last)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void step_sums(const LatentArrays& in, const StepArrays& step, int64_t component, int64_t first, int64_t last) {
#define BADAC_CALL(R) Latent<R>::step_sums(in, step, component, first, last)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void left_out(const LatentArrays& in, const double* means, const double* count, int64_t first, int64_t last, double* scratch,
              double* evidence) {
#define BADAC_CALL(R) Latent<R>::left_out(in, means, count, first, last, scratch, evidence)
    BADAC_BY_RANK
#undef BADAC_CALL
}

void weigh(const PointArrays& in, int64_t first, int64_t last) {
    Attention attention;
    for (int64_t i = first; i < last; ++i) {
        attention.spent(8 * in.m);
        const Weighed object{in.values + i * in.m, in.sigma + i * in.m, in.mean, in.psi, in.m};
        in.offset[i] = weigh_object<false>(object, in.weight + i * in.m, in.scaled + i * in.m);
    }
}

const LatentKernels kTable = {L, log_match, log_evidence, responsible, posterior, moments, step_shares, step_sums, left_out, weigh};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const LatentKernels* BADAC_JOIN(latent_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
