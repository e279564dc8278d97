// Compiled once per instruction set; see pointwise_kernel.hpp for what is computed and simd.hpp for the rules.
#include "pointwise_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;
constexpr double kHalfLog2Pi = 0.91893853320467274178, kLog2 = 0.69314718055994530942;
constexpr double kLeast = -1e300;  // LEAST of the twin
constexpr int kSide = 2;                // vectors at a time
constexpr double kMost = 1e200;         // variances above it have roots whose products vanish
constexpr double kSure = 1e-290;        // in units of the largest factor, above which terms that count as 1e-304 do not matter

// 1 / sqrt(x) for positive normal x: a guess by halving the exponent, within 3.5 %, then Newton's steps, each of which squares the
// error. Multiplications alone, where a root and a division would wait for one another.
BADAC_INLINE VecD inverse_root(const VecD& x) {
    const VecD half = broadcast<VecD>(0.5) * x, more = broadcast<VecD>(1.5);
    VecD y = same_bits<VecD>(UIntD(broadcast<UIntD>(uint64_t(0x5fe6eb50c7b537a9ULL)) - (same_bits<UIntD>(x) >> 1)));
    BADAC_UNROLL
    for (int step = 0; step < 4; ++step) y = y * fma(VecD(broadcast<VecD>(0.0) - half * y), y, more);
    return y;
}

// sum_g exp(w_g) exp(-(d - y_g)^2 / 2 (v + u_g)) / sqrt(v + u_g), in one pass: the determinants stay factors, and nothing is taken
// off the exponents. They are never above 0 where the weights are not; terms below 1e-304 count as that much.
double plain_sum(const double* y, const double* u, const double* w, int64_t padded, double value, double variance) {
    const VecD half = broadcast<VecD>(0.5), smallest = broadcast<VecD>(1e-300);
    const VecD d = broadcast<VecD>(value), v = broadcast<VecD>(variance);
    VecD sum[kSide];
    for (int i = 0; i < kSide; ++i) sum[i] = broadcast<VecD>(0.0);
    for (int64_t g = 0; g < padded; g += kSide * L) {
        VecD part[kSide], inverse[kSide];
        BADAC_UNROLL
        for (int i = 0; i < kSide; ++i) {
            inverse[i] = inverse_root(larger(VecD(v + load<VecD>(u + g + i * L)), smallest));
            const VecD away = (d - load<VecD>(y + g + i * L)) * inverse[i];
            part[i] = load<VecD>(w + g + i * L) - half * (away * away);
        }
        exp_negative_of(part);
        BADAC_UNROLL
        for (int i = 0; i < kSide; ++i) sum[i] = fma(part[i], inverse[i], sum[i]);
    }
    double total = 0.0;
    for (int i = 1; i < kSide; ++i) sum[0] = sum[0] + sum[i];
    for (int i = 0; i < L; ++i) total += sum[0][i];
    return total;
}

// The log of that sum with the largest exponent taken off, and of any variances.
double log_sum(const double* y, const double* u, const double* w, int64_t padded, double value, double variance, double* work) {
    const VecD half = broadcast<VecD>(0.5), least = broadcast<VecD>(kLeast), smallest = broadcast<VecD>(1e-300);
    const VecD d = broadcast<VecD>(value), v = broadcast<VecD>(variance);
    VecD largest = least;
    for (int64_t g = 0; g < padded; g += L) {
        const VecD both = larger(VecD(v + load<VecD>(u + g)), smallest), r = d - load<VecD>(y + g);
        VecD exponent = broadcast<VecD>(0.0);
        const VecD mantissa = take_exponent<double>(both, exponent);
        const VecD log = fma(exponent, broadcast<VecD>(kLog2), log_mantissa(mantissa));
        const VecD match = larger(VecD(load<VecD>(w + g) - half * (r * r / both + log)), least);
        store(work + g, match);
        largest = larger(largest, match);
    }
    double best = kLeast;
    for (int i = 0; i < L; ++i) best = largest[i] > best ? largest[i] : best;
    VecD sum = broadcast<VecD>(0.0);
    for (int64_t g = 0; g < padded; g += L) sum = sum + exp_negative(VecD(load<VecD>(work + g) - broadcast<VecD>(best)));
    double total = 0.0;
    for (int i = 0; i < L; ++i) total += sum[i];
    return best + ::log(total);
}

double log_evidence(const PointMixtures& in, const double* values, const double* variance, double* work) {
    Attention attention;
    double out = 0.0, totals[L];
    VecD mantissa = broadcast<VecD>(1.0), exponents = broadcast<VecD>(0.0);
    int waiting = 0;
    for (int i = 0; i < L; ++i) totals[i] = 1.0;
    for (int64_t j = 0; j < in.m; ++j) {
        if (!isfinite(variance[j])) continue;
        attention.spent(20 * in.padded + 40);
        const double *y = in.values + j * in.padded, *u = in.variance + j * in.padded, *w = in.log_weights + j * in.padded;
        out -= kHalfLog2Pi;
        if (in.plain[j] && variance[j] < kMost) {
            const double total = plain_sum(y, u, w, in.padded, values[j], variance[j]);
            if (total * ::sqrt(variance[j] + in.smallest[j]) > kSure) {
                // Logarithms are taken of whole vectors of points, of their product.
                totals[waiting] = total;
                if (++waiting == L) mantissa = take_exponent<double>(VecD(mantissa * load<VecD>(totals)), exponents), waiting = 0;
                continue;
            }
        }
        out += log_sum(y, u, w, in.padded, values[j], variance[j], work);
    }
    for (int i = 0; i < L; ++i) out += exponents[i] * kLog2 + ::log(mantissa[i]);
    for (int i = 0; i < waiting; ++i) out += ::log(totals[i]);
    return out;
}

const PointwiseKernels kernels = {kSide * L, log_evidence};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const PointwiseKernels* BADAC_NAME(pointwise_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
