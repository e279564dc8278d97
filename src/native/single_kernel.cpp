// Compiled once per instruction set; see single_kernel.hpp for what is computed and simd.hpp for the rules.
#include "single_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<float>::lanes, D = Simd<double>::lanes;
constexpr int kSide = 4;       // vectors of curves at a time: chains that need not wait for each other
constexpr int kTogether = 8;   // points whose fractions are added before a division: single.cpp keeps them in range
constexpr double kLog2 = 0.69314718055994530942, kHalfLog2Pi = 0.91893853320467274178;
constexpr double kMostVariance = 1e12, kFarthest = 1e6;  // of objects under mixtures, in units
constexpr float kFew = 1e-20f;  // a sum below it, in units, may have lost what single precision does not hold

BADAC_INLINE VecF all(float x) { return broadcast<VecF>(x); }

// 1 / sqrt(x) for positive normal x: a guess by halving the exponent, within 3.5 %, then Newton's steps, each of which squares the
// error.
BADAC_INLINE VecF inverse_root(const VecF& x) {
    const VecF half = all(-0.5f) * x, more = all(1.5f);
    VecF y = same_bits<VecF>(UIntF(broadcast<UIntF>(uint32_t(0x5f375a86U)) - (same_bits<UIntF>(x) >> 1)));
    BADAC_UNROLL
    for (int step = 0; step < 3; ++step) y = y * fma(VecF(half * y), y, more);
    return y;
}

BADAC_INLINE double sum_of(const VecF& x) {
    double total = 0.0;
    for (int i = 0; i < L; ++i) total += double(x[i]);
    return total;
}

// Log of the sum of the exponentials of n scores, whole vectors of them.
double log_sum(const float* score, int64_t n) {
    VecF largest = load<VecF>(score);
    for (int64_t c = L; c < n; c += L) largest = larger(largest, load<VecF>(score + c));
    float top = largest[0];
    for (int i = 1; i < L; ++i) top = largest[i] > top ? largest[i] : top;
    VecF sum = all(0.0f);
    for (int64_t c = 0; c < n; c += L) {
        const VecF behind = load<VecF>(score + c) - all(top), share = exp_negative(behind);
        // What is behind by more than float can say is nothing, and not the least that it can.
        sum = sum + select(greater(behind, all(-80.0f)), share, all(0.0f));
    }
    return double(top) + ::log(sum_of(sum));
}

// Minus half chi^2 and log det of one object with a tile of curves; whole powers of two beyond `reference` are left out, which is
// set where it is not yet.
void score(const SingleObject& object, const float* tile, const float* spare, bool first, float& reference, float* out) {
    constexpr int kTile = kSide * L;
    VecF chi[kSide], exponent[kSide], mantissa[kSide], over[kSide], under[kSide];
    BADAC_UNROLL
    for (int q = 0; q < kSide; ++q) chi[q] = exponent[q] = over[q] = all(0.0f), mantissa[q] = under[q] = all(1.0f);
    for (int64_t i = 0; i < object.count;) {
        const int64_t last = i + kTogether < object.count ? i + kTogether : object.count;
        for (; i < last; ++i) {
            const float* row = tile + object.at[i] * 3 * kTile;
            const VecF high = all(object.high[i]), low = all(object.low[i]), own = all(object.variance[i]);
            BADAC_UNROLL
            for (int q = 0; q < kSide; ++q) {
                const VecF r = (high - load<VecF>(row + q * L)) + (low - load<VecF>(row + kTile + q * L));
                const VecF v = own + load<VecF>(row + 2 * kTile + q * L);
                over[q] = fma(over[q], v, VecF(r * r * under[q]));
                under[q] = under[q] * v;
            }
        }
        BADAC_UNROLL
        for (int q = 0; q < kSide; ++q) {
            chi[q] = chi[q] + over[q] / under[q];
            mantissa[q] = take_exponent<float>(VecF(mantissa[q] * under[q]), exponent[q]);
            over[q] = all(0.0f), under[q] = all(1.0f);
        }
    }
    if (first) reference = exponent[0][0];
    BADAC_UNROLL
    for (int q = 0; q < kSide; ++q) {
        const VecF log_det = fma(VecF(exponent[q] - all(reference)), all(float(kLog2)), log_mantissa(mantissa[q]));
        store(out + q * L, VecF(load<VecF>(spare + q * L) - all(0.5f) * (chi[q] + log_det)));
    }
}

void curves(const SingleCurves& in, const SingleObject* objects, int64_t n, float* work, float* reference) {
    constexpr int kTile = kSide * L;
    Attention attention;
    for (int64_t start = 0; start < in.padded; start += kTile)
        for (int64_t i = 0; i < n; ++i) {
            attention.spent(4 * objects[i].count * kSide);
            score(objects[i], in.tiles + start * 3 * in.m, in.spare + start, start == 0, reference[i], work + i * in.padded + start);
        }
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < in.classes; ++c)
            objects[i].out[c] =
                log_sum(work + i * in.padded + in.first[c], in.first[c + 1] - in.first[c]) - 0.5 * kLog2 * double(reference[i]) - in.log_count[c];
}

// sum_g w_g exp(-(d - y_g)^2 / 2 (v + u_g)) / sqrt(v + u_g), one point of one class a lane.
BADAC_INLINE VecF plain_sum(const float* row, int64_t g, const VecF& high, const VecF& low, const VecF& own) {
    const VecF half = all(-0.5f);
    VecF sum[2] = {all(0.0f), all(0.0f)};
    for (int64_t a = 0; a < g; ++a, row += 4 * L) {
        const VecF inverse = inverse_root(VecF(own + load<VecF>(row + 2 * L)));
        const VecF away = ((high - load<VecF>(row)) + (low - load<VecF>(row + L))) * inverse;
        const VecF match = exp_negative(VecF(half * away * away));
        sum[a & 1] = fma(VecF(load<VecF>(row + 3 * L) * inverse), match, sum[a & 1]);
    }
    return sum[0] + sum[1];
}

// The log of that sum in double, of any values.
double careful_log_sum(const double* y, const double* u, const double* w, int64_t n, double value, double own) {
    double best = -1e300, total = 0.0;
    for (int pass = 0; pass < 2; ++pass)
        for (int64_t g = 0; g < n; ++g) {
            const double both = own + u[g], r = value - y[g];
            double match = w[g] - 0.5 * (r * r / both + ::log(both));
            match = match > -1e300 ? match : -1e300;
            if (pass == 0)
                best = match > best ? match : best;
            else
                total += ::exp(match - best);
        }
    return best + ::log(total);
}

// An object in the units of every class: 1 with variance 1 where nothing was observed, or where single precision does not reach.
void bring(const SingleMixtures& in, const double* values, const double* variance, float* high, float* low, float* own) {
    const int64_t pairs = in.classes * in.m;
    for (int64_t place = 0; place < in.padded; ++place) high[place] = low[place] = 0.0f, own[place] = 1.0f;
    for (int64_t place = 0, j = 0; place < pairs; ++place, j = j + 1 == in.m ? 0 : j + 1) {
        const double unit = in.unit[place], value = (values[j] - in.centre[place]) * unit, its = variance[j] * unit * unit;
        const bool reached = in.plain[place] && its < kMostVariance && value < kFarthest && value > -kFarthest;
        if (!reached) continue;
        high[place] = float(value), low[place] = float(value - double(high[place])), own[place] = float(its);
    }
}

// From the sums at every point to the log evidence of each class.
void add_up(const SingleMixtures& in, const double* values, const double* variance, const float* totals, double* out) {
    for (int c = 0; c < in.classes; ++c) {
        double found = 0.0, some[D];
        VecD mantissa = broadcast<VecD>(1.0), exponents = broadcast<VecD>(0.0);
        int waiting = 0;
        for (int64_t j = 0; j < in.m; ++j) {
            if (!isfinite(variance[j])) continue;
            const int64_t place = c * in.m + j;
            const double unit = in.unit[place], value = (values[j] - in.centre[place]) * unit;
            const bool reached = in.plain[place] && variance[j] * unit * unit < kMostVariance && value < kFarthest && value > -kFarthest;
            found -= kHalfLog2Pi;
            if (reached && totals[place] > kFew) {
                found -= in.log_unit[place];
                // Logarithms are taken of whole vectors of points, of their product.
                some[waiting] = double(totals[place]);
                if (++waiting == D) mantissa = take_exponent<double>(VecD(mantissa * load<VecD>(some)), exponents), waiting = 0;
            } else {
                found += careful_log_sum(in.values + place * in.g, in.variance + place * in.g, in.log_weights + place * in.g, in.g, values[j],
                                         variance[j]);
            }
        }
        for (int i = 0; i < D; ++i) found += exponents[i] * kLog2;
        for (int i = 1; i < D; ++i) mantissa[0] = mantissa[0] * mantissa[i];
        found += ::log(mantissa[0]);
        for (int i = 0; i < waiting; ++i) found += ::log(some[i]);
        out[c] = found;
    }
}

void points(const SingleMixtures& in, const double* values, const double* variance, int64_t n, float* work, double* out) {
    Attention attention;
    const int64_t P = in.padded;
    float *high = work, *low = high + n * P, *own = low + n * P, *totals = own + n * P;
    for (int64_t i = 0; i < n; ++i) bring(in, values + i * in.m, variance + i * in.m, high + i * P, low + i * P, own + i * P);
    for (int64_t start = 0; start < P; start += L)
        for (int64_t i = 0; i < n; ++i) {
            attention.spent(20 * in.g);
            const int64_t at = i * P + start;
            store(totals + at, plain_sum(in.rows + start * 4 * in.g, in.g, load<VecF>(high + at), load<VecF>(low + at), load<VecF>(own + at)));
        }
    for (int64_t i = 0; i < n; ++i) {
        attention.spent(20 * P);
        add_up(in, values + i * in.m, variance + i * in.m, totals + i * P, out + i * in.classes);
    }
}

const SingleKernels kernels = {L, kSide * L, curves, points};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const SingleKernels* BADAC_NAME(single_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
