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
constexpr int kDraws = 2 * L, kPoints = 2;  // positions and points at once, in the likelihood
constexpr int kProduct = 4;  // brackets multiplied before the exponent is taken out
constexpr double kLog2 = 0.69314718055994530942, kHalfLog2Pi = 0.91893853320467274178;

// The sum of the lanes, in pairs: one after the other, each addition would wait for the one before.
BADAC_INLINE double total(const VecD& x) {
    double part[L];
    BADAC_UNROLL
    for (int i = 0; i < L; ++i) part[i] = x[i];
    BADAC_UNROLL
    for (int half = L / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) part[i] += part[i + half];
    return part[0];
}

// One object's points side by side: values (0 where missing), 1 where observed and 0 elsewhere, and of every width the precision
// 1 / v_c and the height a_c / sqrt(v_c).
struct Side {
    double *value, *mask, *inverse, *height;
};

int64_t side_work(const WidthsModel& in) { return in.padded * (2 + 2 * int64_t(in.n_widths)); }

BADAC_INLINE Side side_by_side(const WidthsModel& in, const double* residual, const double* sigma, double* work, Attention& attention) {
    const int64_t N = in.padded;
    const int S = in.n_widths;
    const Side out = {work, work + N, work + 2 * N, work + (2 + S) * N};
    for (int64_t j = 0; j < N; ++j) {
        const bool observed = j < in.m && isfinite(sigma[j]);
        out.value[j] = observed ? residual[j] : 0.0, out.mask[j] = observed ? 1.0 : 0.0;
        // The variance, for a while where the first precision will be.
        out.inverse[j] = observed ? sigma[j] * sigma[j] : 1.0;
    }
    const VecD one = broadcast<VecD>(1.0);
    for (int64_t j = 0; j < N; j += L) {
        attention.spent(20 * S);
        const VecD variance = load<VecD>(out.inverse + j), psi = load<VecD>(in.psi + j);
        for (int c = 0; c < S; ++c) {
            const VecD inverse = one / fma(broadcast<VecD>(in.scale_squared[c]), variance, psi);
            store(out.inverse + c * N + j, inverse);
            store(out.height + c * N + j, VecD(broadcast<VecD>(in.share[c]) * root(inverse)));
        }
    }
    return out;
}

int64_t posterior_work(const WidthsModel& in) { return side_work(in) + 3 * in.padded; }

// Expected squared residuals of V vectors of points from j on, around the curve of a position; C holds its covariance, packed, with
// elements off the diagonal twice as large: they count twice in f' C f.
template <int V>
BADAC_INLINE void square(const WidthsModel& in, const Side& side, const double* position, const double* C, int64_t j, double* squared) {
    const int64_t N = in.padded;
    const int r = in.r;
    VecD left[V], spread[V];
    for (int v = 0; v < V; ++v) left[v] = load<VecD>(side.value + j + v * L), spread[v] = broadcast<VecD>(0.0);
    for (int a = 0; a < r; ++a) {
        const VecD minus = broadcast<VecD>(-position[a]);
        for (int v = 0; v < V; ++v) left[v] = fma(minus, load<VecD>(in.factors_t + a * N + j + v * L), left[v]);
    }
    for (int a = 0; a < r; ++a) {
        VecD row[V];
        for (int v = 0; v < V; ++v) row[v] = broadcast<VecD>(0.0);
        for (int c = a; c < r; ++c, ++C) {
            const VecD entry = broadcast<VecD>(*C);
            for (int v = 0; v < V; ++v) row[v] = fma(entry, load<VecD>(in.factors_t + c * N + j + v * L), row[v]);
        }
        for (int v = 0; v < V; ++v) spread[v] = fma(row[v], load<VecD>(in.factors_t + a * N + j + v * L), spread[v]);
    }
    for (int v = 0; v < V; ++v)
        store(squared + j + v * L, VecD(load<VecD>(side.mask + j + v * L) * fma(left[v], left[v], spread[v])));
}

// Expected precisions of V vectors of points from j on, from their squared residuals.
template <int V>
BADAC_INLINE void weigh(const WidthsModel& in, const Side& side, const double* squared, int64_t j, double* weight) {
    const int64_t N = in.padded;
    const int S = in.n_widths, w = in.widest;
    VecD sum[V], weighed[V], half[V], widest[V];
    for (int v = 0; v < V; ++v) {
        widest[v] = load<VecD>(side.inverse + w * N + j + v * L);
        half[v] = load<VecD>(squared + j + v * L) * broadcast<VecD>(-0.5);
        sum[v] = load<VecD>(side.height + w * N + j + v * L), weighed[v] = sum[v] * widest[v];
    }
    for (int c = 0; c < S; ++c) {
        if (c == w) continue;
        VecD part[V], inverse[V];
        for (int v = 0; v < V; ++v) {
            inverse[v] = load<VecD>(side.inverse + c * N + j + v * L);
            part[v] = (inverse[v] - widest[v]) * half[v];
        }
        exp_negative_of(part);
        for (int v = 0; v < V; ++v) {
            part[v] = part[v] * load<VecD>(side.height + c * N + j + v * L);
            sum[v] = sum[v] + part[v], weighed[v] = fma(part[v], inverse[v], weighed[v]);
        }
    }
    for (int v = 0; v < V; ++v) store(weight + j + v * L, VecD(load<VecD>(side.mask + j + v * L) * weighed[v] / sum[v]));
}

// Sums over the points of K rows of N products with the weights.
template <int K>
BADAC_INLINE void sums(const double* weight, const double* rows, int64_t N, double* out) {
    VecD sum[K];
    for (int k = 0; k < K; ++k) sum[k] = broadcast<VecD>(0.0);
    for (int64_t j = 0; j < N; j += L) {
        const VecD w = load<VecD>(weight + j);
        for (int k = 0; k < K; ++k) sum[k] = fma(w, load<VecD>(rows + k * N + j), sum[k]);
    }
    for (int k = 0; k < K; ++k) out[k] = total(sum[k]);
}

void all_sums(const double* weight, const double* rows, int64_t count, int64_t N, double* out, Attention& attention) {
    int64_t e = 0;
    for (; e + kVectors <= count; e += kVectors) attention.spent(kVectors * N / L), sums<kVectors>(weight, rows + e * N, N, out + e);
    for (; e < count; ++e) attention.spent(N / L), sums<1>(weight, rows + e * N, N, out + e);
}

void posterior(const WidthsModel& in, const double* residual, const double* sigma, bool started, int max_steps, double tolerance,
               double* work, double* weight_out, double* squared_out) {
    const int64_t N = in.padded;
    const int r = in.r, p = r * (r + 1) / 2;
    Attention attention;
    const Side side = side_by_side(in, residual, sigma, work, attention);
    double *weight = work + side_work(in), *squared = weight + N, *scaled = squared + N;
    if (started) {
        for (int64_t j = 0; j < N; ++j) squared[j] = j < in.m && side.mask[j] > 0.0 ? squared_out[j] : 0.0;
    } else {
        const VecD one = broadcast<VecD>(1.0);
        for (int64_t j = 0; j < N; j += L) {
            attention.spent(r);
            VecD spread = broadcast<VecD>(0.0);
            for (int a = 0; a < r; ++a) {
                const VecD f = load<VecD>(in.factors_t + a * N + j);
                spread = fma(f, f, spread);
            }
            // psi + sigma^2: there need not be a width of one.
            VecD variance = load<VecD>(in.psi + j);
            for (int i = 0; i < L; ++i) variance[i] += side.mask[j + i] > 0.0 ? sigma[j + i] * sigma[j + i] : 1.0;
            const VecD value = load<VecD>(side.value + j);
            store(squared + j, VecD(value * value / (one + spread / variance)));
        }
    }
    double position[kWidthsMaxRank], A[kWidthsMaxRank * (kWidthsMaxRank + 1) / 2], b[kWidthsMaxRank], moved[kWidthsMaxRank];
    double moved_before[kWidthsMaxRank], change_before[kWidthsMaxRank];
    for (int a = 0; a < r; ++a) position[a] = moved_before[a] = change_before[a] = 0.0;
    for (int step = 0; step < max_steps; ++step) {
        int64_t j = 0;
        for (; j + kVectors * L <= N; j += kVectors * L) attention.spent(20 * in.n_widths * kVectors), weigh<kVectors>(in, side, squared, j, weight);
        for (; j < N; j += L) attention.spent(20 * in.n_widths), weigh<1>(in, side, squared, j, weight);
        for (j = 0; j < N; j += L) store(scaled + j, VecD(load<VecD>(weight + j) * load<VecD>(side.value + j)));
        all_sums(scaled, in.factors_t, r, N, b, attention);
        // From the factors and not from a table of their products, which would not stay in the innermost cache.
        double* sum = A;
        for (int a = 0; a < r; sum += r - a, ++a) {
            const double* row = in.factors_t + a * N;
            for (j = 0; j < N; j += L) store(scaled + j, VecD(load<VecD>(weight + j) * load<VecD>(row + j)));
            all_sums(scaled, row, r - a, N, sum, attention);
        }
        attention.spent(r * p);
        invert<kWidthsMaxRank>(A, r);
        double change = 0.0;
        for (int a = 0; a < r; ++a) moved[a] = 0.0;
        double* entry = A;
        for (int a = 0; a < r; ++a)
            for (int c = a; c < r; ++c, ++entry) {
                moved[a] += *entry * b[c];
                if (c != a) moved[c] += *entry * b[a], *entry *= 2.0;
            }
        double along = 0.0, square_of_turn = 0.0;
        for (int a = 0; a < r; ++a) {
            const double move = moved[a] - position[a], away = move > 0.0 ? move : -move, turn = move - change_before[a];
            change = away > change ? away : change;
            along += move * turn, square_of_turn += turn * turn;
            change_before[a] = move;
        }
        // Anderson's acceleration, from the third step on.
        double back = step >= 2 && square_of_turn > 0.0 ? along / square_of_turn : 0.0;
        back = back > kWidthsMostBack ? kWidthsMostBack : back < -kWidthsMostAhead ? -kWidthsMostAhead : back;
        for (int a = 0; a < r; ++a) {
            position[a] = moved[a] - back * (moved[a] - moved_before[a]);
            moved_before[a] = moved[a];
        }
        for (j = 0; j + kVectors * L <= N; j += kVectors * L) attention.spent(kVectors * (r + p)), square<kVectors>(in, side, position, A, j, squared);
        for (; j < N; j += L) attention.spent(r + p), square<1>(in, side, position, A, j, squared);
        if (change < tolerance) break;
    }
    for (int64_t j = 0; j < in.m; ++j) weight_out[j] = weight[j], squared_out[j] = squared[j];
}

int64_t likelihood_work(const WidthsModel& in, int64_t n_positions) {
    const int64_t padded = (n_positions + kDraws - 1) / kDraws * kDraws;
    return side_work(in) + in.r * padded + padded;
}

void log_likelihood(const WidthsModel& in, const double* residual, const double* sigma, const double* positions, int64_t n_positions,
                    double* work, double* out) {
    const int64_t N = in.padded, padded = (n_positions + kDraws - 1) / kDraws * kDraws;
    const int r = in.r, S = in.n_widths, w = in.widest;
    Attention attention;
    const Side side = side_by_side(in, residual, sigma, work, attention);
    double *position = work + side_work(in), *score = position + r * padded;
    for (int64_t k = 0; k < padded; ++k)
        for (int a = 0; a < r; ++a) position[a * padded + k] = positions[(k < n_positions ? k : n_positions - 1) * r + a];
    // Heights relative to their sum, whose log is the same for all positions. What is missing has the widest alone, of height and
    // precision nothing but one and zero.
    double highest = 0.0;
    {
        const VecD one = broadcast<VecD>(1.0), zero = broadcast<VecD>(0.0);
        VecD exponent = zero, logs = zero;
        for (int64_t j = 0; j < N; j += L) {
            attention.spent(20 + 4 * S);
            const VecD mask = load<VecD>(side.mask + j), missing = one - mask;
            VecD top = zero;
            for (int c = 0; c < S; ++c) top = top + load<VecD>(side.height + c * N + j);
            const VecD scaled = mask / top, widest = load<VecD>(side.inverse + w * N + j);
            for (int c = 0; c < S; ++c) {
                const int64_t at = c * N + j;
                const VecD height = load<VecD>(side.height + at) * scaled;
                store(side.height + at, c == w ? VecD(height + missing) : height);
                store(side.inverse + at, VecD(mask * broadcast<VecD>(-0.5) * (c == w ? widest : VecD(load<VecD>(side.inverse + at) - widest))));
            }
            const VecD mantissa = take_exponent<double>(fma(mask, top, missing), exponent);
            logs = logs + log_mantissa(mantissa);
            for (int i = 0; i < L; ++i) highest -= mask[i] * kHalfLog2Pi;
        }
        highest += total(VecD(fma(exponent, broadcast<VecD>(kLog2), logs)));
    }
    for (int64_t k = 0; k < padded; k += kDraws) {
        VecD sum[2], product[2], exponent[2];
        for (int v = 0; v < 2; ++v) sum[v] = exponent[v] = broadcast<VecD>(0.0), product[v] = broadcast<VecD>(1.0);
        int count = 0;
        // Points two at a time: padded as they are, there is always a second.
        for (int64_t j = 0; j < in.m; j += kPoints) {
            attention.spent(kPoints * (2 * r + 40 * S));
            VecD square[kPoints * 2], bracket[kPoints * 2];
            for (int q = 0; q < kPoints; ++q) square[2 * q] = square[2 * q + 1] = broadcast<VecD>(side.value[j + q]);
            for (int a = 0; a < r; ++a) {
                const VecD at[2] = {load<VecD>(position + a * padded + k), load<VecD>(position + a * padded + k + L)};
                for (int q = 0; q < kPoints; ++q) {
                    const VecD minus = broadcast<VecD>(-in.factors_t[a * N + j + q]);
                    for (int v = 0; v < 2; ++v) square[2 * q + v] = fma(minus, at[v], square[2 * q + v]);
                }
            }
            for (int q = 0; q < kPoints; ++q)
                for (int v = 0; v < 2; ++v) {
                    square[2 * q + v] = square[2 * q + v] * square[2 * q + v];
                    sum[v] = fma(broadcast<VecD>(side.inverse[w * N + j + q]), square[2 * q + v], sum[v]);
                    bracket[2 * q + v] = broadcast<VecD>(side.height[w * N + j + q]);
                }
            for (int c = 0; c < S; ++c) {
                if (c == w) continue;
                VecD part[kPoints * 2];
                for (int q = 0; q < kPoints; ++q)
                    for (int v = 0; v < 2; ++v) part[2 * q + v] = broadcast<VecD>(side.inverse[c * N + j + q]) * square[2 * q + v];
                exp_negative_of(part);
                for (int q = 0; q < kPoints; ++q)
                    for (int v = 0; v < 2; ++v)
                        bracket[2 * q + v] = fma(broadcast<VecD>(side.height[c * N + j + q]), part[2 * q + v], bracket[2 * q + v]);
            }
            for (int q = 0; q < kPoints; ++q)
                for (int v = 0; v < 2; ++v) product[v] = product[v] * bracket[2 * q + v];
            if ((count += kPoints) % kProduct == 0)
                for (int v = 0; v < 2; ++v) product[v] = take_exponent<double>(product[v], exponent[v]);
        }
        for (int v = 0; v < 2; ++v) {
            const VecD mantissa = take_exponent<double>(product[v], exponent[v]);
            store(score + k + v * L, VecD(fma(exponent[v], broadcast<VecD>(kLog2), VecD(sum[v] + log_mantissa(mantissa)))));
        }
    }
    for (int64_t k = 0; k < n_positions; ++k) out[k] = score[k] + highest;
}

const WidthsKernels kernels = {L, kDraws, posterior_work, posterior, likelihood_work, log_likelihood};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const WidthsKernels* BADAC_NAME(widths_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
