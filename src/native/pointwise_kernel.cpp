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

double log_evidence(const PointMixtures& in, const double* values, const double* variance, double* work) {
    Attention attention;
    double out = 0.0;
    const VecD half = broadcast<VecD>(0.5), least = broadcast<VecD>(kLeast), smallest = broadcast<VecD>(1e-300);
    for (int64_t j = 0; j < in.m; ++j) {
        if (!isfinite(variance[j])) continue;
        attention.spent(20 * in.padded + 40);
        const double *y = in.values + j * in.padded, *u = in.variance + j * in.padded, *w = in.log_weights + j * in.padded;
        const VecD d = broadcast<VecD>(values[j]), v = broadcast<VecD>(variance[j]);
        VecD largest = least;
        for (int64_t g = 0; g < in.padded; g += L) {
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
        for (int64_t g = 0; g < in.padded; g += L) sum = sum + exp_negative(VecD(load<VecD>(work + g) - broadcast<VecD>(best)));
        double total = 0.0;
        for (int i = 0; i < L; ++i) total += sum[i];
        out += best + ::log(total) - kHalfLog2Pi;
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
