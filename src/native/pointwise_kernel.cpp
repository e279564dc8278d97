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
constexpr double kAlike = 1e60, kMost = 1e200;  // ratio of variances, and the largest, within which roots of them may be multiplied

// 1 / sqrt(x) for positive normal x: a guess by halving the exponent, within 3.5 %, then Newton's steps, each of which squares the
// error. Multiplications alone, where a root and a division would wait for one another.
BADAC_INLINE VecD inverse_root(const VecD& x) {
    const VecD half = broadcast<VecD>(0.5) * x, more = broadcast<VecD>(1.5);
    VecD y = same_bits<VecD>(UIntD(broadcast<UIntD>(uint64_t(0x5fe6eb50c7b537a9ULL)) - (same_bits<UIntD>(x) >> 1)));
    BADAC_UNROLL
    for (int step = 0; step < 4; ++step) y = y * fma(VecD(broadcast<VecD>(0.0) - half * y), y, more);
    return y;
}

// log sum_g exp(w_g) N(d; y_g, v + u_g), less the constant of one Gaussian. The determinants stay factors instead of logarithms,
// which is safe where the variances are of one order (within 1e60): sums then neither vanish nor overflow.
double log_sum_alike(const double* y, const double* u, const double* w, int64_t padded, double value, double variance, double* work) {
    const VecD half = broadcast<VecD>(0.5), least = broadcast<VecD>(kLeast), smallest = broadcast<VecD>(1e-300);
    const VecD d = broadcast<VecD>(value), v = broadcast<VecD>(variance);
    double* root = work + padded;
    VecD largest = least;
    for (int64_t g = 0; g < padded; g += L) {
        const VecD inverse = inverse_root(larger(VecD(v + load<VecD>(u + g)), smallest));
        const VecD away = (d - load<VecD>(y + g)) * inverse;
        const VecD match = larger(VecD(load<VecD>(w + g) - half * (away * away)), least);
        store(work + g, match), store(root + g, inverse);
        largest = larger(largest, match);
    }
    double best = kLeast;
    for (int i = 0; i < L; ++i) best = largest[i] > best ? largest[i] : best;
    const VecD top = broadcast<VecD>(best);
    VecD sum = broadcast<VecD>(0.0);
    int64_t g = 0;
    for (; g + 4 * L <= padded; g += 4 * L) {
        VecD part[4];
        BADAC_UNROLL
        for (int i = 0; i < 4; ++i) part[i] = load<VecD>(work + g + i * L) - top;
        exp_negative_of(part);
        BADAC_UNROLL
        for (int i = 0; i < 4; ++i) sum = fma(part[i], load<VecD>(root + g + i * L), sum);
    }
    for (; g < padded; g += L) sum = fma(exp_negative(VecD(load<VecD>(work + g) - top)), load<VecD>(root + g), sum);
    double total = 0.0;
    for (int i = 0; i < L; ++i) total += sum[i];
    return best + ::log(total);
}

// The same for any variances.
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
    double out = 0.0;
    for (int64_t j = 0; j < in.m; ++j) {
        if (!isfinite(variance[j])) continue;
        attention.spent(20 * in.padded + 40);
        const double *y = in.values + j * in.padded, *u = in.variance + j * in.padded, *w = in.log_weights + j * in.padded;
        const bool alike = variance[j] < kMost && in.largest[j] < kMost && in.largest[j] <= kAlike * in.smallest[j];
        out += (alike ? log_sum_alike : log_sum)(y, u, w, in.padded, values[j], variance[j], work) - kHalfLog2Pi;
    }
    return out;
}

const PointwiseKernels kernels = {L, log_evidence};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const PointwiseKernels* BADAC_NAME(pointwise_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
