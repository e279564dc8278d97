// Compiled once per instruction set; see widths_kernel.hpp for what is computed and simd.hpp for the rules.
#include "widths_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "packed_inverse.hpp"
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;
constexpr int kVectors = 4;  // independent chains, so that additions need not wait for each other
constexpr int kGroup = kVectors * L, kDraws = 2 * L;
constexpr int kProduct = 4;  // brackets multiplied before the exponent is taken out
constexpr double kLog2 = 0.69314718055994530942, kHalfLog2Pi = 0.91893853320467274178;

BADAC_INLINE double total(const VecD& x) {
    double sum = 0.0;
    for (int i = 0; i < L; ++i) sum += x[i];
    return sum;
}

int64_t posterior_work(const WidthsModel& in) { return in.padded * (4 + 3 * int64_t(in.n_widths)); }

void posterior(const WidthsModel& in, const double* residual, const double* sigma, int max_steps, double tolerance, double* work,
               double* weight_out, double* squared_out) {
    const int64_t N = in.padded;
    const int r = in.r, p = r * (r + 1) / 2, S = in.n_widths, w = in.widest;
    double *value = work, *mask = value + N, *weight = mask + N, *squared = weight + N, *inverse = squared + N, *height = inverse + S * N,
           *rate = height + S * N;
    Attention attention;
    for (int64_t j = 0; j < N; ++j) {
        attention.spent(r + 40 * S);
        const bool observed = j < in.m && isfinite(sigma[j]);
        const double variance = observed ? sigma[j] * sigma[j] : 1.0, psi = j < in.m ? in.psi[j] : 1.0;
        value[j] = observed ? residual[j] : 0.0;
        mask[j] = observed ? 1.0 : 0.0;
        double spread = 0.0;
        for (int a = 0; a < r; ++a) spread += in.factors_t[a * N + j] * in.factors_t[a * N + j];
        squared[j] = value[j] * value[j] / (1.0 + spread / (psi + variance));
        for (int c = 0; c < S; ++c) {
            inverse[c * N + j] = 1.0 / (psi + in.scale_squared[c] * variance);
            height[c * N + j] = in.share[c] * sqrt(inverse[c * N + j]);
        }
        for (int c = 0; c < S; ++c) rate[c * N + j] = -0.5 * (inverse[c * N + j] - inverse[w * N + j]);
    }
    double position[kWidthsMaxRank], A[kWidthsMaxRank * (kWidthsMaxRank + 1) / 2], b[kWidthsMaxRank], moved[kWidthsMaxRank];
    for (int a = 0; a < r; ++a) position[a] = 0.0;
    for (int step = 0; step < max_steps; ++step) {
        for (int64_t j = 0; j < N; j += L) {
            attention.spent(20 * S);
            const VecD square = load<VecD>(squared + j);
            VecD sum = load<VecD>(height + w * N + j), weighed = sum * load<VecD>(inverse + w * N + j);
            for (int c = 0; c < S; ++c) {
                if (c == w) continue;
                const VecD part = load<VecD>(height + c * N + j) * exp_negative(VecD(load<VecD>(rate + c * N + j) * square));
                sum = sum + part;
                weighed = fma(part, load<VecD>(inverse + c * N + j), weighed);
            }
            store(weight + j, VecD(load<VecD>(mask + j) * weighed / sum));
        }
        for (int e = 0; e < p; ++e) {
            attention.spent(N / L);
            const double* row = in.products_t + e * N;
            VecD sum[kVectors];
            for (int v = 0; v < kVectors; ++v) sum[v] = broadcast<VecD>(0.0);
            for (int64_t j = 0; j < N; j += kGroup)
                for (int v = 0; v < kVectors; ++v) sum[v] = fma(load<VecD>(weight + j + v * L), load<VecD>(row + j + v * L), sum[v]);
            A[e] = total(VecD((sum[0] + sum[1]) + (sum[2] + sum[3])));
        }
        for (int a = 0; a < r; ++a) {
            const double* row = in.factors_t + a * N;
            VecD sum = broadcast<VecD>(0.0);
            for (int64_t j = 0; j < N; j += L) sum = fma(VecD(load<VecD>(weight + j) * load<VecD>(value + j)), load<VecD>(row + j), sum);
            b[a] = total(sum);
        }
        attention.spent(r * p);
        invert<kWidthsMaxRank>(A, r);
        double change = 0.0;
        for (int a = 0; a < r; ++a) moved[a] = 0.0;
        double* entry = A;
        for (int a = 0; a < r; ++a)
            for (int c = a; c < r; ++c, ++entry) {
                moved[a] += *entry * b[c];
                // Off-diagonal elements count twice in f' C f.
                if (c != a) moved[c] += *entry * b[a], *entry *= 2.0;
            }
        for (int a = 0; a < r; ++a) {
            const double away = moved[a] > position[a] ? moved[a] - position[a] : position[a] - moved[a];
            change = away > change ? away : change;
            position[a] = moved[a];
        }
        for (int64_t j = 0; j < N; j += kGroup) {
            attention.spent(kVectors * (r + p));
            VecD left[kVectors], spread[kVectors];
            for (int v = 0; v < kVectors; ++v) left[v] = load<VecD>(value + j + v * L), spread[v] = broadcast<VecD>(0.0);
            for (int a = 0; a < r; ++a) {
                const VecD minus = broadcast<VecD>(-position[a]);
                for (int v = 0; v < kVectors; ++v) left[v] = fma(minus, load<VecD>(in.factors_t + a * N + j + v * L), left[v]);
            }
            for (int e = 0; e < p; ++e) {
                const VecD c = broadcast<VecD>(A[e]);
                for (int v = 0; v < kVectors; ++v) spread[v] = fma(c, load<VecD>(in.products_t + e * N + j + v * L), spread[v]);
            }
            for (int v = 0; v < kVectors; ++v)
                store(squared + j + v * L, VecD(load<VecD>(mask + j + v * L) * fma(left[v], left[v], spread[v])));
        }
        if (change < tolerance) break;
    }
    for (int64_t j = 0; j < in.m; ++j) weight_out[j] = weight[j], squared_out[j] = squared[j];
}

int64_t likelihood_work(const WidthsModel& in, int64_t n_positions) {
    const int64_t padded = (n_positions + kDraws - 1) / kDraws * kDraws;
    return in.r * padded + 2 * in.m * in.n_widths + padded;
}

void log_likelihood(const WidthsModel& in, const double* residual, const double* sigma, const double* positions, int64_t n_positions,
                    double* work, double* out) {
    const int64_t padded = (n_positions + kDraws - 1) / kDraws * kDraws;
    const int r = in.r, S = in.n_widths, w = in.widest;
    double *position = work, *coefficient = position + r * padded, *score = coefficient + 2 * in.m * S;
    for (int64_t k = 0; k < padded; ++k)
        for (int a = 0; a < r; ++a) position[a * padded + k] = positions[(k < n_positions ? k : n_positions - 1) * r + a];
    // The widest first, then the others; heights relative to their sum, whose log is the same for all positions.
    double highest = 0.0;
    for (int64_t j = 0; j < in.m; ++j) {
        if (!isfinite(sigma[j])) continue;
        double* at = coefficient + 2 * j * S;
        const double variance = sigma[j] * sigma[j], widest = 1.0 / (in.psi[j] + in.scale_squared[w] * variance);
        double top = in.share[w] * sqrt(widest);
        at[0] = -0.5 * widest, at[1] = top;
        int place = 1;
        for (int c = 0; c < S; ++c) {
            if (c == w) continue;
            const double inverse = 1.0 / (in.psi[j] + in.scale_squared[c] * variance), height = in.share[c] * sqrt(inverse);
            at[2 * place] = -0.5 * (inverse - widest), at[2 * place + 1] = height;
            top += height, ++place;
        }
        for (int c = 0; c < S; ++c) at[2 * c + 1] /= top;
        highest += log(top) - kHalfLog2Pi;
    }
    Attention attention;
    for (int64_t k = 0; k < padded; k += kDraws) {
        VecD sum[2], product[2], exponent[2];
        for (int v = 0; v < 2; ++v) sum[v] = exponent[v] = broadcast<VecD>(0.0), product[v] = broadcast<VecD>(1.0);
        int count = 0;
        for (int64_t j = 0; j < in.m; ++j) {
            if (!isfinite(sigma[j])) continue;
            attention.spent(2 * r + 40 * S);
            const double *at = coefficient + 2 * j * S, *row = in.factors + j * r;
            VecD square[2], bracket[2];
            square[0] = square[1] = broadcast<VecD>(residual[j]);
            for (int a = 0; a < r; ++a) {
                const VecD minus = broadcast<VecD>(-row[a]);
                for (int v = 0; v < 2; ++v) square[v] = fma(minus, load<VecD>(position + a * padded + k + v * L), square[v]);
            }
            for (int v = 0; v < 2; ++v) {
                square[v] = square[v] * square[v];
                sum[v] = fma(broadcast<VecD>(at[0]), square[v], sum[v]);
                bracket[v] = broadcast<VecD>(at[1]);
            }
            for (int c = 1; c < S; ++c)
                for (int v = 0; v < 2; ++v)
                    bracket[v] = fma(broadcast<VecD>(at[2 * c + 1]), exp_negative(VecD(broadcast<VecD>(at[2 * c]) * square[v])), bracket[v]);
            for (int v = 0; v < 2; ++v) product[v] = product[v] * bracket[v];
            if (++count % kProduct == 0)
                for (int v = 0; v < 2; ++v) product[v] = take_exponent<double>(product[v], exponent[v]);
        }
        for (int v = 0; v < 2; ++v) {
            const VecD mantissa = take_exponent<double>(product[v], exponent[v]);
            store(score + k + v * L, VecD(fma(exponent[v], broadcast<VecD>(kLog2), VecD(sum[v] + log_mantissa(mantissa)))));
        }
    }
    for (int64_t k = 0; k < n_positions; ++k) out[k] = score[k] + highest;
}

const WidthsKernels kernels = {kGroup, kDraws, posterior_work, posterior, likelihood_work, log_likelihood};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const WidthsKernels* BADAC_NAME(widths_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
