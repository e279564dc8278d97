// Compiled once per instruction set; see mixture_kernel.hpp for what is computed.
#include "mixture_kernel.hpp"

#include <math.h>

#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int kLanes = Simd<float>::lanes, kVectors = 2, kTile = kLanes * kVectors;
constexpr int kRows = 4;  // curves of a list that are scored together, for independent chains
constexpr int kProduct = 4;   // brackets multiplied before the exponent is taken out: each may be 1e-9
constexpr float kLn2 = 0.69314718f, kLog2E = 1.44269504f;

BADAC_INLINE VecF no_less(const VecF& x, float least) {
#if defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecF)_mm512_max_ps((__m512)x, _mm512_set1_ps(least));
#elif defined(__AVX2__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecF)_mm256_max_ps((__m256)x, _mm256_set1_ps(least));
#else
    return larger(x, broadcast<VecF>(least));
#endif
}

// 1 / sqrt x to 3e-7: the processor's estimate and one step of Newton's where there is one.
BADAC_INLINE VecF inverse_root(const VecF& x) {
#if defined(__AVX2__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
#ifdef __AVX512F__
    const VecF guess = (VecF)_mm512_rsqrt14_ps((__m512)x);
#else
    const VecF guess = (VecF)_mm256_rsqrt_ps((__m256)x);
#endif
    const VecF half = broadcast<VecF>(-0.5f) * x * guess;
    return guess * fma(half, guess, broadcast<VecF>(1.5f));
#else
    VecF y = x;
    for (int i = 0; i < kLanes; ++i) y[i] = 1.0f / sqrtf(x[i]);
    return y;
#endif
}

// 2^x for x <= 0 to 4e-6: a bracket needs no more, since what matters is computed again. The rounded exponent is added to the
// bits of the polynomial.
BADAC_INLINE VecF quick_exp2(VecF x) {
    x = no_less(x, -125.0f);
    const VecF shift = broadcast<VecF>(Simd<float>::round_magic);
    const VecF rounded = x + shift, f = x - (rounded - shift);
    VecF p = fma(broadcast<VecF>(9.67605e-3f), f, broadcast<VecF>(5.592212e-2f));
    p = fma(p, f, broadcast<VecF>(2.4022107e-1f));
    p = fma(p, f, broadcast<VecF>(6.9312102e-1f));
    p = fma(p, f, broadcast<VecF>(1.00000008f));
    return same_bits<VecF>(UIntF(same_bits<UIntF>(p) + (same_bits<UIntF>(rounded) << 23)));
}

// Overflow makes a logarithm too small, and so the bound too high: on the safe side.
template <bool OWN>
void bound(const MixtureBound& object, const float* tile, float* out) {
    constexpr int kRows = OWN ? 2 : 1;
    const VecF one = broadcast<VecF>(1.0f), rate = broadcast<VecF>(object.rate);
    VecF grown[kVectors], plain[kVectors], exponent[kVectors], plain_exponent[kVectors];
    for (int v = 0; v < kVectors; ++v) grown[v] = plain[v] = one, exponent[v] = plain_exponent[v] = broadcast<VecF>(0.0f);
    for (int i = 0; i < object.n_points; ++i) {
        const float* row = tile + int64_t(object.point[i]) * kRows * kTile;
        const VecF value = broadcast<VecF>(object.value[i]), own = broadcast<VecF>(object.variance[i]);
        for (int v = 0; v < kVectors; ++v) {
            const VecF r = value - load<VecF>(row + v * kLanes), square = r * r;
            if (OWN) {
                const VecF variance = own + load<VecF>(row + kTile + v * kLanes);
                grown[v] = grown[v] * fma(rate, square, variance);
                plain[v] = plain[v] * variance;
            } else {
                grown[v] = grown[v] * fma(own, square, one);
            }
        }
        if (i % kProduct == kProduct - 1)
            for (int v = 0; v < kVectors; ++v) {
                grown[v] = take_exponent<float>(grown[v], exponent[v]);
                if (OWN) plain[v] = take_exponent<float>(plain[v], plain_exponent[v]);
            }
    }
    const VecF ln2 = broadcast<VecF>(kLn2);
    for (int v = 0; v < kVectors; ++v) {
        const VecF mantissa = take_exponent<float>(grown[v], exponent[v]), log_grown = fma(exponent[v], ln2, log_mantissa(mantissa));
        VecF score = broadcast<VecF>(-object.power) * log_grown;
        if (OWN) {
            const VecF rest = take_exponent<float>(plain[v], plain_exponent[v]), log_plain = fma(plain_exponent[v], ln2, log_mantissa(rest));
            score = fma(broadcast<VecF>(object.power - 0.5f), log_plain, score);
        }
        store(out + v * kLanes, score);
    }
}

template <bool OWN>
void score(const MixtureObject& object, const MixtureWidths& widths, const float* rows, const int32_t* list, int n, float* out) {
    const int n_components = widths.n_components, padded = object.padded;
    const VecF half = broadcast<VecF>(-0.5f), to_base_2 = broadcast<VecF>(kLog2E);
    for (int first = 0; first < n; first += kRows) {
        const float* row[kRows];
        VecF total[kRows], product[kRows], exponent[kRows];
        for (int k = 0; k < kRows; ++k) {
            row[k] = rows + ptrdiff_t(list[first + k < n ? first + k : n - 1]) * (OWN ? 2 : 1) * padded;
            total[k] = broadcast<VecF>(0.0f), product[k] = broadcast<VecF>(1.0f), exponent[k] = broadcast<VecF>(0.0f);
        }
        int step = 0;
        for (int i = 0; i < padded; i += kLanes) {
            const float* coefficient = object.coefficient + i;
            const VecF value = load<VecF>(object.value + i);
            VecF square[kRows], bracket[kRows];
            if (OWN) {
                const VecF own = load<VecF>(coefficient), present = load<VecF>(coefficient + 2 * padded);
                VecF curve[kRows], widest[kRows] = {};
                for (int k = 0; k < kRows; ++k) {
                    const VecF r = (value - load<VecF>(row[k] + i)) * present;
                    square[k] = half * r * r;
                    curve[k] = load<VecF>(row[k] + padded + i);
                    bracket[k] = broadcast<VecF>(0.0f);
                }
                for (int c = 0; c < n_components; ++c) {
                    const VecF scaled = broadcast<VecF>(widths.object_factor[c]) * own, factor = broadcast<VecF>(widths.curve_factor[c]);
                    const VecF share = broadcast<VecF>(widths.share[c]);
                    for (int k = 0; k < kRows; ++k) {
                        const VecF root = inverse_root(fma(factor, curve[k], scaled)), inverse = root * root;
                        if (c == 0) {
                            total[k] = fma(square[k], inverse, total[k]);
                            square[k] = square[k] * to_base_2;
                            widest[k] = inverse, bracket[k] = share * root;
                        } else {
                            bracket[k] = fma(VecF(share * root), quick_exp2(VecF(square[k] * (inverse - widest[k]))), bracket[k]);
                        }
                    }
                }
                const VecF norm = load<VecF>(coefficient + padded), absent = load<VecF>(coefficient + 3 * padded);
                for (int k = 0; k < kRows; ++k) product[k] = product[k] * fma(bracket[k], norm, absent);
            } else {
                const VecF wide = load<VecF>(coefficient), height = load<VecF>(coefficient + padded);
                for (int k = 0; k < kRows; ++k) {
                    const VecF r = value - load<VecF>(row[k] + i);
                    square[k] = r * r;
                    total[k] = fma(wide, square[k], total[k]);
                    bracket[k] = height;
                }
                for (int c = 1; c < n_components; ++c) {
                    const VecF rate = load<VecF>(coefficient + 2 * c * padded), share = load<VecF>(coefficient + (2 * c + 1) * padded);
                    for (int k = 0; k < kRows; ++k) bracket[k] = fma(share, quick_exp2(VecF(rate * square[k])), bracket[k]);
                }
                for (int k = 0; k < kRows; ++k) product[k] = product[k] * bracket[k];
            }
            if (++step % kProduct == 0)
                for (int k = 0; k < kRows; ++k) product[k] = take_exponent<float>(product[k], exponent[k]);
        }
        for (int k = 0; k < kRows && first + k < n; ++k) {
            const VecF mantissa = take_exponent<float>(product[k], exponent[k]);
            const VecF sum = fma(exponent[k], broadcast<VecF>(kLn2), VecF(total[k] + log_mantissa(mantissa)));
            float whole = 0.0f;
            for (int l = 0; l < kLanes; ++l) whole += sum[l];
            out[first + k] = whole;
        }
    }
}

BADAC_INLINE VecD root(const VecD& x) {
#if defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecD)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecD)_mm256_sqrt_pd((__m256d)x);
#else
    VecD y = x;
    for (int i = 0; i < Simd<double>::lanes; ++i) y[i] = sqrt(x[i]);
    return y;
#endif
}

double careful(const MixturePairs& pairs, int n, const double* square, const double* object_variance, const double* curve_variance) {
    constexpr int L = Simd<double>::lanes;
    VecD total = broadcast<VecD>(0.0), product = broadcast<VecD>(1.0), exponent = broadcast<VecD>(0.0);
    for (int i = 0; i < n; i += L) {
        const VecD r = load<VecD>(square + i), a = load<VecD>(object_variance + i), b = load<VecD>(curve_variance + i);
        VecD widest = broadcast<VecD>(0.0), bracket = broadcast<VecD>(0.0);
        for (int c = 0; c < pairs.n_components; ++c) {
            const VecD own = broadcast<VecD>(pairs.object_factor[c]) * a;
            const VecD inverse = broadcast<VecD>(1.0) / fma(broadcast<VecD>(pairs.curve_factor[c]), b, own);
            const VecD height = broadcast<VecD>(pairs.share[c]) * root(inverse);
            if (c == 0) {
                widest = inverse, bracket = height;
            } else {
                bracket = fma(height, exp_negative(VecD(r * (inverse - widest))), bracket);
            }
        }
        total = fma(r, widest, total);
        // Mantissa by mantissa: heights may be anything.
        product = take_exponent<double>(VecD(product * take_exponent<double>(bracket, exponent)), exponent);
    }
    const VecD sum = fma(exponent, broadcast<VecD>(0.69314718055994530942), VecD(total + log_mantissa(product)));
    double out = 0.0;
    for (int l = 0; l < L; ++l) out += sum[l];
    return out;
}

const MixtureKernels kernels = {kTile, kLanes, bound<false>, bound<true>, score<false>, score<true>, Simd<double>::lanes, careful};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const MixtureKernels* BADAC_NAME(mixture_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
