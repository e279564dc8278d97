// Compiled once per instruction set; see counts_kernel.hpp for what is computed and simd.hpp for the rules.
#include "counts_kernel.hpp"

#include "heed.hpp"
#include "packed_inverse.hpp"
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;
constexpr int kVectors = 4;  // independent chains, so that additions need not wait for each other
constexpr int kGroup = kVectors * L;
constexpr int kProduct = 4;         // brackets multiplied before the exponent is taken out
constexpr double kFarthest = 50.0;  // log rates beyond it are no rates
constexpr double kLog2 = 0.69314718055994530942;

BADAC_INLINE double total(const VecD& x) {
    double sum = 0.0;
    for (int i = 0; i < L; ++i) sum += x[i];
    return sum;
}

BADAC_INLINE VecD smaller(const VecD& a, const VecD& b) { return select(greater(a, b), b, a); }

BADAC_INLINE VecD within(const VecD& x, const VecD& most) { return larger(smaller(x, most), VecD(broadcast<VecD>(0.0) - most)); }

int64_t posterior_work(const CountsModel& in) { return 7 * in.padded; }

void posterior(const CountsModel& in, const CountsSteps& steps, const double* counts, const double* exposure, double* work,
               double* value_out, double* variance_out, double* link_out) {
    const int64_t N = in.padded;
    const int r = in.r, p = r * (r + 1) / 2;
    double *count = work, *looked = count + N, *link = looked + N, *variance = link + N, *working = variance + N, *width = working + N,
           *weight = width + N;
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0);
    Attention attention;
    for (int64_t j = 0; j < N; ++j) {
        const bool observed = j < in.m && exposure[j] > 0.0;
        count[j] = observed ? counts[j] : 0.0, looked[j] = observed ? exposure[j] : 0.0;
    }
    // Each count starts between itself and what the population says of it; none is no reason for an infinite log.
    for (int64_t j = 0; j < N; j += L) {
        const VecD own = load<VecD>(count + j), looks = load<VecD>(looked + j), inverse = load<VecD>(in.per_unit + j), known = inverse * inverse;
        VecD exponent = zero;
        const VecD mantissa = take_exponent<double>(VecD(larger(own, one) / select(greater(looks, zero), looks, one)), exponent);
        const VecD log_rate = fma(exponent, broadcast<VecD>(kLog2), log_mantissa(mantissa)), spread = one / (known + own);
        store(link + j, VecD(fma(own, log_rate, VecD(known * load<VecD>(in.mean + j))) * spread));
        store(variance + j, spread);
    }
    double A[kCountsMaxRank * (kCountsMaxRank + 1) / 2], b[kCountsMaxRank], moved[kCountsMaxRank];
    for (int step = 0; step < steps.most; ++step) {
        for (int64_t j = 0; j < N; j += L) {
            attention.spent(40);
            const VecD at = load<VecD>(link + j), looks = load<VecD>(looked + j), near = broadcast<VecD>(1.0 / steps.widest) * load<VecD>(in.per_unit + j);
            const VecD rate = looks * exp_negative(within(fma(broadcast<VecD>(0.5), load<VecD>(variance + j), at), broadcast<VecD>(kFarthest)));
            const VecD wide = one / larger(rate, VecD(near * near));
            store(width + j, wide);
            store(working + j, fma(VecD(load<VecD>(count + j) - rate), wide, at));
            store(weight + j, select(greater(looks, zero), VecD(one / (load<VecD>(in.psi + j) + wide)), zero));
        }
        // Some sums at a time, so that a weight that was loaded serves all of them.
        for (int e = 0; e < p; e += kVectors) {
            attention.spent(kVectors * N / L);
            const double* row[kVectors];
            VecD sum[kVectors];
            BADAC_UNROLL
            for (int v = 0; v < kVectors; ++v) sum[v] = zero, row[v] = in.products_t + (e + v < p ? e + v : p - 1) * N;
            for (int64_t j = 0; j < N; j += L) {
                const VecD own = load<VecD>(weight + j);
                BADAC_UNROLL
                for (int v = 0; v < kVectors; ++v) sum[v] = fma(own, load<VecD>(row[v] + j), sum[v]);
            }
            for (int v = 0; v < kVectors && e + v < p; ++v) A[e + v] = total(sum[v]);
        }
        for (int a = 0; a < r; ++a) {
            const double* row = in.factors_t + a * N;
            VecD sum = zero;
            for (int64_t j = 0; j < N; j += L)
                sum = fma(VecD(load<VecD>(weight + j) * (load<VecD>(working + j) - load<VecD>(in.mean + j))), load<VecD>(row + j), sum);
            b[a] = total(sum);
        }
        attention.spent(r * p);
        invert<kCountsMaxRank>(A, r);
        for (int a = 0; a < r; ++a) moved[a] = 0.0;
        double* entry = A;
        for (int a = 0; a < r; ++a)
            for (int c = a; c < r; ++c, ++entry) {
                moved[a] += *entry * b[c];
                // Off-diagonal elements count twice in f' C f.
                if (c != a) moved[c] += *entry * b[a], *entry *= 2.0;
            }
        VecD longest = zero;
        for (int64_t j = 0; j < N; j += kGroup) {
            attention.spent(kVectors * (r + p));
            VecD smooth[kVectors], spread[kVectors];
            BADAC_UNROLL
            for (int v = 0; v < kVectors; ++v) smooth[v] = load<VecD>(in.mean + j + v * L), spread[v] = zero;
            for (int a = 0; a < r; ++a) {
                const VecD z = broadcast<VecD>(moved[a]);
                BADAC_UNROLL
                for (int v = 0; v < kVectors; ++v) smooth[v] = fma(z, load<VecD>(in.factors_t + a * N + j + v * L), smooth[v]);
            }
            for (int e = 0; e < p; ++e) {
                const VecD c = broadcast<VecD>(A[e]);
                BADAC_UNROLL
                for (int v = 0; v < kVectors; ++v) spread[v] = fma(c, load<VecD>(in.products_t + e * N + j + v * L), spread[v]);
            }
            BADAC_UNROLL
            for (int v = 0; v < kVectors; ++v) {
                const int64_t i = j + v * L;
                const VecD unit = load<VecD>(in.unit + i), own = load<VecD>(in.psi + i) * load<VecD>(weight + i), rest = one - own;
                const VecD at = load<VecD>(link + i);
                VecD change = fma(own, VecD(load<VecD>(working + i) - smooth[v]), smooth[v]) - at;
                change = within(change, VecD(broadcast<VecD>(steps.largest) * unit));
                const VecD away = change * load<VecD>(in.per_unit + i);
                longest = larger(longest, larger(away, VecD(zero - away)));
                store(link + i, VecD(at + change));
                store(variance + i, fma(own, load<VecD>(width + i), VecD(spread[v] * rest * rest)));
            }
        }
        double change = 0.0;
        for (int i = 0; i < L; ++i) change = longest[i] > change ? longest[i] : change;
        if (change < steps.settled) break;
    }
    for (int64_t j = 0; j < in.m; ++j) value_out[j] = working[j], variance_out[j] = width[j], link_out[j] = link[j];
}

int64_t likelihood_work(const CountsModel& in, const CountsNodes& nodes, int64_t n_positions) {
    const int64_t padded = (n_positions + 2 * L - 1) / (2 * L) * 2 * L;
    return in.r * padded + in.m * nodes.count + padded + 2 * in.padded;
}

// `kNodes` nodes, known when compiling so that their exponentials run side by side, 0 for any number; `V` vectors of positions at a
// time.
template <int kNodes, int V>
BADAC_INLINE void log_likelihood_at(const CountsModel& in, const CountsNodes& nodes, const double* counts, const double* exposure,
                                    const double* positions, int64_t n_positions, double* work, double* out) {
    constexpr int kDraws = V * L;
    const int64_t padded = (n_positions + kDraws - 1) / kDraws * kDraws;
    const int r = in.r, Q = kNodes ? kNodes : nodes.count;
    double *position = work, *tilt = position + r * padded, *score = tilt + in.m * Q;
    for (int64_t k = 0; k < padded; ++k)
        for (int a = 0; a < r; ++a) position[a * padded + k] = positions[(k < n_positions ? k : n_positions - 1) * r + a];
    for (int64_t j = 0; j < in.m; ++j)
        for (int q = 0; q < Q; ++q) tilt[j * Q + q] = counts[j] * nodes.away[j * Q + q] + nodes.log_weight[q];
    const VecD zero = broadcast<VecD>(0.0), farthest = broadcast<VecD>(kFarthest);
    Attention attention;
    for (int64_t k = 0; k < padded; k += kDraws) {
        VecD sum[V], product[V], exponent[V];
        BADAC_UNROLL
        for (int v = 0; v < V; ++v) sum[v] = exponent[v] = zero, product[v] = broadcast<VecD>(1.0);
        int done = 0;
        for (int64_t j = 0; j < in.m; ++j) {
            if (!(exposure[j] > 0.0)) continue;
            attention.spent(2 * r + 40 * Q);
            const double *row = in.factors + j * r, *own = tilt + j * Q, *excess = nodes.excess + j * Q;
            VecD link[V], rate[V];
            BADAC_UNROLL
            for (int v = 0; v < V; ++v) link[v] = broadcast<VecD>(in.mean[j]);
            for (int a = 0; a < r; ++a) {
                const VecD f = broadcast<VecD>(row[a]);
                BADAC_UNROLL
                for (int v = 0; v < V; ++v) link[v] = fma(f, load<VecD>(position + a * padded + k + v * L), link[v]);
            }
            VecD part[V * (kNodes ? kNodes : kCountsMaxNodes)];
            BADAC_UNROLL
            for (int v = 0; v < V; ++v) {
                link[v] = within(link[v], farthest);
                rate[v] = broadcast<VecD>(exposure[j]) * exp_negative(link[v]);
                sum[v] = fma(broadcast<VecD>(counts[j]), link[v], VecD(sum[v] - rate[v]));
                VecD* own_part = part + v * Q;
                for (int q = 0; q < Q; ++q) own_part[q] = fma(broadcast<VecD>(-excess[q]), rate[v], broadcast<VecD>(own[q]));
                VecD top = own_part[0];
                for (int q = 1; q < Q; ++q) top = larger(top, own_part[q]);
                for (int q = 0; q < Q; ++q) own_part[q] = own_part[q] - top;
                sum[v] = sum[v] + top;
            }
            if constexpr (kNodes > 0)
                exp_negative_of(part);
            else
                for (int q = 0; q < V * Q; ++q) part[q] = exp_negative(part[q]);
            BADAC_UNROLL
            for (int v = 0; v < V; ++v) {
                VecD bracket = part[v * Q];
                for (int q = 1; q < Q; ++q) bracket = bracket + part[v * Q + q];
                product[v] = product[v] * bracket;
            }
            if (++done % kProduct == 0)
                BADAC_UNROLL
                for (int v = 0; v < V; ++v) product[v] = take_exponent<double>(product[v], exponent[v]);
        }
        BADAC_UNROLL
        for (int v = 0; v < V; ++v) {
            const VecD mantissa = take_exponent<double>(product[v], exponent[v]);
            store(score + k + v * L, VecD(fma(exponent[v], broadcast<VecD>(kLog2), VecD(sum[v] + log_mantissa(mantissa)))));
        }
    }
    for (int64_t k = 0; k < n_positions; ++k) out[k] = score[k];
}

// At one position, one point a lane.
template <int kNodes>
BADAC_INLINE double log_likelihood_there(const CountsModel& in, const CountsNodes& nodes, const double* counts, const double* exposure,
                                         const double* position, double* work) {
    const int64_t N = in.padded;
    const int Q = kNodes ? kNodes : nodes.count;
    double *count = work, *looked = count + N;
    for (int64_t j = 0; j < N; ++j) {
        const bool observed = j < in.m && exposure[j] > 0.0;
        count[j] = observed ? counts[j] : 0.0, looked[j] = observed ? exposure[j] : 0.0;
    }
    const VecD zero = broadcast<VecD>(0.0), farthest = broadcast<VecD>(kFarthest);
    VecD sum = zero, product = broadcast<VecD>(1.0), exponent = zero;
    Attention attention;
    for (int64_t j = 0; j < N; j += L) {
        attention.spent(2 * in.r + 40 * Q);
        VecD link = load<VecD>(in.mean + j);
        for (int a = 0; a < in.r; ++a) link = fma(broadcast<VecD>(position[a]), load<VecD>(in.factors_t + a * N + j), link);
        link = within(link, farthest);
        const VecD own = load<VecD>(count + j), rate = load<VecD>(looked + j) * exp_negative(link);
        VecD part[kNodes ? kNodes : kCountsMaxNodes];
        BADAC_UNROLL
        for (int q = 0; q < Q; ++q)
            part[q] = fma(own, load<VecD>(nodes.away_t + q * N + j), broadcast<VecD>(nodes.log_weight[q])) - load<VecD>(nodes.excess_t + q * N + j) * rate;
        VecD top = part[0];
        BADAC_UNROLL
        for (int q = 1; q < Q; ++q) top = larger(top, part[q]);
        BADAC_UNROLL
        for (int q = 0; q < Q; ++q) part[q] = part[q] - top;
        if constexpr (kNodes > 0)
            exp_negative_of(part);
        else
            for (int q = 0; q < Q; ++q) part[q] = exp_negative(part[q]);
        VecD bracket = part[0];
        BADAC_UNROLL
        for (int q = 1; q < Q; ++q) bracket = bracket + part[q];
        // Where nothing was looked at the weights are left, and are no part of it.
        const auto seen = greater(load<VecD>(looked + j), zero);
        sum = sum + select(seen, VecD(fma(own, link, VecD(zero - rate)) + top), zero);
        product = take_exponent<double>(VecD(product * select(seen, bracket, broadcast<VecD>(1.0))), exponent);
    }
    return total(VecD(fma(exponent, broadcast<VecD>(kLog2), VecD(sum + log_mantissa(product)))));
}

template <int kNodes>
void log_likelihood_of(const CountsModel& in, const CountsNodes& nodes, const double* counts, const double* exposure, const double* positions,
                       int64_t n_positions, double* work, double* out) {
    if (n_positions == 1)
        out[0] = log_likelihood_there<kNodes>(in, nodes, counts, exposure, positions, work);
    else if (n_positions <= L)
        log_likelihood_at<kNodes, 1>(in, nodes, counts, exposure, positions, n_positions, work, out);
    else
        log_likelihood_at<kNodes, 2>(in, nodes, counts, exposure, positions, n_positions, work, out);
}

void log_likelihood(const CountsModel& in, const CountsNodes& nodes, const double* counts, const double* exposure, const double* positions,
                    int64_t n_positions, double* work, double* out) {
    // Five are those of badac.latent.count_likelihood.
    const auto of = nodes.count == 5 ? log_likelihood_of<5> : log_likelihood_of<0>;
    of(in, nodes, counts, exposure, positions, n_positions, work, out);
}

const CountsKernels kernels = {kGroup, posterior_work, posterior, likelihood_work, log_likelihood};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const CountsKernels* BADAC_NAME(counts_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
