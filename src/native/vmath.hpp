// Logarithm and exponential of whole vectors, and the splitting of a product into mantissa and exponent.
//
// Double: within 2 units in the last place over the ranges the kernels use. Float: within 2 units too, used for screening only.
#pragma once
#include <math.h>

#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {

// x = mantissa * 2^exponent with mantissa in [1, 2), for positive normal x; the exponent is added to `exponents`.
template <class T, class V = typename Simd<T>::Vec>
BADAC_INLINE V take_exponent(const V& x, V& exponents) {
    typedef Simd<T> S;
    typedef typename S::Bits I;
    const I bits = same_bits<I>(x);
    // The biased exponent, or-ed into the fraction of 2^52 (2^23), is that number plus the exponent: no integer conversion.
    const I count = (bits >> S::fraction_bits) | broadcast<I>(S::count_bits);
    exponents = exponents + (same_bits<V>(count) - broadcast<V>(T(S::count_value + S::bias)));
    return same_bits<V>(I((bits & broadcast<I>(S::fraction_mask)) | broadcast<I>(S::one)));
}

BADAC_INLINE VecD root(const VecD& x) {
#if defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecD)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecD)_mm256_sqrt_pd((__m256d)x);
#else
    VecD y = x;
    for (int i = 0; i < int(sizeof(VecD) / sizeof(double)); ++i) y[i] = sqrt(x[i]);
    return y;
#endif
}

// log x for x in [1, 2), after fdlibm: log(1+f) = f - (f^2/2 - s (f^2/2 + R(s^2))), s = f / (2 + f), |f| < 0.42.
BADAC_INLINE VecD log_mantissa(VecD x) {
    const VecD half = broadcast<VecD>(0.5), root2 = broadcast<VecD>(1.4142135623730951);
    const auto upper = greater(x, root2);
    x = select(upper, VecD(x * half), x);
    const VecD extra = select(upper, broadcast<VecD>(0.6931471805599453094), broadcast<VecD>(0.0));
    const VecD f = x - broadcast<VecD>(1.0), s = f / (broadcast<VecD>(2.0) + f), z = s * s;
    VecD r = broadcast<VecD>(1.479819860511658591e-01);
    r = fma(r, z, broadcast<VecD>(1.531383769920937332e-01));
    r = fma(r, z, broadcast<VecD>(1.818357216161805012e-01));
    r = fma(r, z, broadcast<VecD>(2.222219843214978396e-01));
    r = fma(r, z, broadcast<VecD>(2.857142874366239149e-01));
    r = fma(r, z, broadcast<VecD>(3.999999999940941908e-01));
    r = fma(r, z, broadcast<VecD>(6.666666666666735130e-01));
    const VecD square = half * f * f;
    return extra + (f - (square - s * (square + r * z)));
}
BADAC_INLINE VecF log_mantissa(VecF x) {
    const VecF half = broadcast<VecF>(0.5f), root2 = broadcast<VecF>(1.41421356f);
    const auto upper = greater(x, root2);
    x = select(upper, VecF(x * half), x);
    const VecF extra = select(upper, broadcast<VecF>(0.69314718f), broadcast<VecF>(0.0f));
    const VecF f = x - broadcast<VecF>(1.0f), s = f / (broadcast<VecF>(2.0f) + f), z = s * s;
    VecF r = broadcast<VecF>(0.24279078841f);
    r = fma(r, z, broadcast<VecF>(0.28498786688f));
    r = fma(r, z, broadcast<VecF>(0.40000972152f));
    r = fma(r, z, broadcast<VecF>(0.66666662693f));
    const VecF square = half * f * f;
    return extra + (f - (square - s * (square + r * z)));
}

// exp x for x <= 0; below -700 (float: -87) the value there, some 1e-304 (1e-38). Taylor's series on |r| <= log(2)/2.
BADAC_INLINE VecD exp_negative(VecD x) {
    x = larger(x, broadcast<VecD>(Simd<double>::exp_floor));
    const VecD shift = broadcast<VecD>(Simd<double>::round_magic);
    const VecD rounded = fma(x, broadcast<VecD>(1.44269504088896340736), shift), k = rounded - shift;
    VecD r = fma(k, broadcast<VecD>(-6.93147180369123816490e-01), x);
    r = fma(k, broadcast<VecD>(-1.90821492927058770002e-10), r);
    const double series[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                             1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5,         1.0, 1.0};
    VecD p = broadcast<VecD>(1.0 / 6227020800.0);
    for (double c : series) p = fma(p, r, broadcast<VecD>(c));
    const UIntD scale = (same_bits<UIntD>(rounded) << 52) + broadcast<UIntD>(Simd<double>::one);
    return p * same_bits<VecD>(scale);
}
// exp x of N vectors at once, as above but to 2e-13 of itself, by a series of three terms less: for sums that need not be better. The
// series run side by side instead of waiting for each other.
template <int N>
BADAC_INLINE void exp_negative_of(VecD (&x)[N]) {
    const double series[] = {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    const VecD shift = broadcast<VecD>(Simd<double>::round_magic);
    VecD rounded[N], p[N];
    BADAC_UNROLL
    for (int i = 0; i < N; ++i) {
        x[i] = larger(x[i], broadcast<VecD>(Simd<double>::exp_floor));
        rounded[i] = fma(x[i], broadcast<VecD>(1.44269504088896340736), shift);
        const VecD k = rounded[i] - shift;
        x[i] = fma(k, broadcast<VecD>(-6.93147180369123816490e-01), x[i]);
        x[i] = fma(k, broadcast<VecD>(-1.90821492927058770002e-10), x[i]);
        p[i] = broadcast<VecD>(1.0 / 3628800);
    }
    BADAC_UNROLL
    for (int s = 0; s < 10; ++s) {
        BADAC_UNROLL
        for (int i = 0; i < N; ++i) p[i] = fma(p[i], x[i], broadcast<VecD>(series[s]));
    }
    BADAC_UNROLL
    for (int i = 0; i < N; ++i) {
        const UIntD scale = (same_bits<UIntD>(rounded[i]) << 52) + broadcast<UIntD>(Simd<double>::one);
        x[i] = p[i] * same_bits<VecD>(scale);
    }
}
BADAC_INLINE VecF exp_negative(VecF x) {
    x = larger(x, broadcast<VecF>(Simd<float>::exp_floor));
    const VecF shift = broadcast<VecF>(Simd<float>::round_magic);
    const VecF rounded = fma(x, broadcast<VecF>(1.44269504f), shift), k = rounded - shift;
    VecF r = fma(k, broadcast<VecF>(-0.693359375f), x);
    r = fma(k, broadcast<VecF>(2.12194440e-4f), r);
    const float series[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
    VecF p = broadcast<VecF>(1.0f / 5040);
    for (float c : series) p = fma(p, r, broadcast<VecF>(c));
    const UIntF scale = (same_bits<UIntF>(rounded) << 23) + broadcast<UIntF>(Simd<float>::one);
    return p * same_bits<VecF>(scale);
}

}  // namespace BADAC_LEVEL
}  // namespace badac
