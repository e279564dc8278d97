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
constexpr int kGroup = kVectors * L, kDraws = 2 * L;
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
        link[j] = in.mean[j], variance[j] = in.unit[j] * in.unit[j];
    }
    double A[kCountsMaxRank * (kCountsMaxRank + 1) / 2], b[kCountsMaxRank], moved[kCountsMaxRank];
    for (int step = 0; step < steps.most; ++step) {
        for (int64_t j = 0; j < N; j += L) {
            attention.spent(40);
            const VecD at = load<VecD>(link + j), looks = load<VecD>(looked + j), far = broadcast<VecD>(steps.widest) * load<VecD>(in.unit + j);
            const VecD rate = looks * exp_negative(within(fma(broadcast<VecD>(0.5), load<VecD>(variance + j), at), broadcast<VecD>(kFarthest)));
            const VecD wide = one / larger(rate, VecD(one / (far * far)));
            store(width + j, wide);
            store(working + j, fma(VecD(load<VecD>(count + j) - rate), wide, at));
            store(weight + j, select(greater(looks, zero), VecD(one / (load<VecD>(in.psi + j) + wide)), zero));
        }
        for (int e = 0; e < p; ++e) {
            attention.spent(N / L);
            const double* row = in.products_t + e * N;
            VecD sum[kVectors];
            for (int v = 0; v < kVectors; ++v) sum[v] = zero;
            for (int64_t j = 0; j < N; j += kGroup)
                for (int v = 0; v < kVectors; ++v) sum[v] = fma(load<VecD>(weight + j + v * L), load<VecD>(row + j + v * L), sum[v]);
            A[e] = total(VecD((sum[0] + sum[1]) + (sum[2] + sum[3])));
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
            for (int v = 0; v < kVectors; ++v) smooth[v] = load<VecD>(in.mean + j + v * L), spread[v] = zero;
            for (int a = 0; a < r; ++a) {
                const VecD z = broadcast<VecD>(moved[a]);
                for (int v = 0; v < kVectors; ++v) smooth[v] = fma(z, load<VecD>(in.factors_t + a * N + j + v * L), smooth[v]);
            }
            for (int e = 0; e < p; ++e) {
                const VecD c = broadcast<VecD>(A[e]);
                for (int v = 0; v < kVectors; ++v) spread[v] = fma(c, load<VecD>(in.products_t + e * N + j + v * L), spread[v]);
            }
            for (int v = 0; v < kVectors; ++v) {
                const int64_t i = j + v * L;
                const VecD unit = load<VecD>(in.unit + i), own = load<VecD>(in.psi + i) * load<VecD>(weight + i), rest = one - own;
                const VecD at = load<VecD>(link + i);
                VecD change = fma(own, VecD(load<VecD>(working + i) - smooth[v]), smooth[v]) - at;
                change = within(change, VecD(broadcast<VecD>(steps.largest) * unit));
                const VecD away = change / unit;
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
    const int64_t padded = (n_positions + kDraws - 1) / kDraws * kDraws;
    return in.r * padded + in.m * nodes.count + padded;
}

// `kNodes` nodes, known when compiling so that their exponentials run side by side; 0 for any number.
template <int kNodes>
BADAC_INLINE void log_likelihood_at(const CountsModel& in, const CountsNodes& nodes, const double* counts, const double* exposure,
                                    const double* positions, int64_t n_positions, double* work, double* out) {
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
        VecD sum[2], product[2], exponent[2];
        for (int v = 0; v < 2; ++v) sum[v] = exponent[v] = zero, product[v] = broadcast<VecD>(1.0);
        int done = 0;
        for (int64_t j = 0; j < in.m; ++j) {
            if (!(exposure[j] > 0.0)) continue;
            attention.spent(2 * r + 40 * Q);
            const double *row = in.factors + j * r, *own = tilt + j * Q, *excess = nodes.excess + j * Q;
            VecD link[2], rate[2];
            link[0] = link[1] = broadcast<VecD>(in.mean[j]);
            for (int a = 0; a < r; ++a) {
                const VecD f = broadcast<VecD>(row[a]);
                for (int v = 0; v < 2; ++v) link[v] = fma(f, load<VecD>(position + a * padded + k + v * L), link[v]);
            }
            VecD part[2 * (kNodes ? kNodes : kCountsMaxNodes)];
            for (int v = 0; v < 2; ++v) {
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
                for (int q = 0; q < 2 * Q; ++q) part[q] = exp_negative(part[q]);
            for (int v = 0; v < 2; ++v) {
                VecD bracket = part[v * Q];
                for (int q = 1; q < Q; ++q) bracket = bracket + part[v * Q + q];
                product[v] = product[v] * bracket;
            }
            if (++done % kProduct == 0)
                for (int v = 0; v < 2; ++v) product[v] = take_exponent<double>(product[v], exponent[v]);
        }
        for (int v = 0; v < 2; ++v) {
            const VecD mantissa = take_exponent<double>(product[v], exponent[v]);
            store(score + k + v * L, VecD(fma(exponent[v], broadcast<VecD>(kLog2), VecD(sum[v] + log_mantissa(mantissa)))));
        }
    }
    for (int64_t k = 0; k < n_positions; ++k) out[k] = score[k];
}

void log_likelihood(const CountsModel& in, const CountsNodes& nodes, const double* counts, const double* exposure, const double* positions,
                    int64_t n_positions, double* work, double* out) {
    // Five are those of badac.latent.count_likelihood.
    if (nodes.count == 5)
        log_likelihood_at<5>(in, nodes, counts, exposure, positions, n_positions, work, out);
    else
        log_likelihood_at<0>(in, nodes, counts, exposure, positions, n_positions, work, out);
}

const CountsKernels kernels = {kGroup, posterior_work, posterior, likelihood_work, log_likelihood};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const CountsKernels* BADAC_NAME(counts_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
