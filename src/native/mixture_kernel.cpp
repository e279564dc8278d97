// Compiled once per instruction set; see mixture_kernel.hpp for what is computed.
#include "mixture_kernel.hpp"

#include <math.h>

#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int kLanes = Simd<float>::lanes, kVectors = 2, kTile = kLanes * kVectors;
constexpr int kProduct = 4;   // brackets multiplied before the exponent is taken out: each may be 1e-9
constexpr int kPatience = 8;  // points between looks at whether the tile still matters
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

BADAC_INLINE bool any_above(const VecF* total, const VecF* exponent, float cut) {
    for (int v = 0; v < kVectors; ++v) {
        // The mantissa is below 2: one more power of two is a bound.
        const VecF bound = fma(exponent[v] + broadcast<VecF>(1.0f), broadcast<VecF>(kLn2), total[v]);
        if (lanes_set(greater(bound, broadcast<VecF>(cut)))) return true;
    }
    return false;
}

BADAC_INLINE void finish(const VecF* total, VecF* product, VecF* exponent, float* out) {
    for (int v = 0; v < kVectors; ++v) {
        const VecF mantissa = take_exponent<float>(product[v], exponent[v]);
        store(out + v * kLanes, VecF(fma(exponent[v], broadcast<VecF>(kLn2), VecF(total[v] + log_mantissa(mantissa)))));
    }
}

bool score_shared(const MixtureObject& object, const MixtureWidths& widths, const float* tile, float cut, float* out) {
    const int n_components = widths.n_components;
    VecF total[kVectors], product[kVectors], exponent[kVectors];
    for (int v = 0; v < kVectors; ++v)
        total[v] = broadcast<VecF>(0.0f), product[v] = broadcast<VecF>(1.0f), exponent[v] = broadcast<VecF>(0.0f);
    for (int i = 0; i < object.n_points; ++i) {
        const float* row = tile + int64_t(object.point[i]) * kTile;
        const float* coefficient = object.coefficient + int64_t(i) * 2 * n_components;
        const VecF value = broadcast<VecF>(object.value[i]), wide = broadcast<VecF>(coefficient[0]);
        VecF square[kVectors], bracket[kVectors];
        for (int v = 0; v < kVectors; ++v) {
            const VecF r = value - load<VecF>(row + v * kLanes);
            square[v] = r * r;
            total[v] = fma(wide, square[v], total[v]);
            bracket[v] = broadcast<VecF>(coefficient[1]);
        }
        for (int c = 1; c < n_components; ++c) {
            const VecF rate = broadcast<VecF>(coefficient[2 * c]), height = broadcast<VecF>(coefficient[2 * c + 1]);
            for (int v = 0; v < kVectors; ++v) bracket[v] = fma(height, quick_exp2(VecF(rate * square[v])), bracket[v]);
        }
        for (int v = 0; v < kVectors; ++v) product[v] = product[v] * bracket[v];
        if (i % kProduct == kProduct - 1)
            for (int v = 0; v < kVectors; ++v) product[v] = take_exponent<float>(product[v], exponent[v]);
        if (i % kPatience == kPatience - 1 && !any_above(total, exponent, cut)) {
            finish(total, product, exponent, out);
            return false;
        }
    }
    finish(total, product, exponent, out);
    return true;
}

bool score_own(const MixtureObject& object, const MixtureWidths& widths, const float* tile, float cut, float* out) {
    const int n_components = widths.n_components;
    const VecF half = broadcast<VecF>(-0.5f), to_base_2 = broadcast<VecF>(kLog2E);
    VecF total[kVectors], product[kVectors], exponent[kVectors];
    for (int v = 0; v < kVectors; ++v)
        total[v] = broadcast<VecF>(0.0f), product[v] = broadcast<VecF>(1.0f), exponent[v] = broadcast<VecF>(0.0f);
    for (int i = 0; i < object.n_points; ++i) {
        const float* row = tile + int64_t(object.point[i]) * 2 * kTile;
        const float* coefficient = object.coefficient + int64_t(i) * 2;
        const VecF value = broadcast<VecF>(object.value[i]), norm = broadcast<VecF>(coefficient[1]);
        VecF square[kVectors], curve[kVectors], widest[kVectors] = {}, bracket[kVectors] = {};
        for (int v = 0; v < kVectors; ++v) {
            const VecF r = value - load<VecF>(row + v * kLanes);
            square[v] = half * r * r;
            curve[v] = load<VecF>(row + kTile + v * kLanes);
        }
        for (int c = 0; c < n_components; ++c) {
            const VecF own = broadcast<VecF>(widths.object_factor[c] * coefficient[0]), factor = broadcast<VecF>(widths.curve_factor[c]);
            const VecF share = broadcast<VecF>(widths.share[c]);
            for (int v = 0; v < kVectors; ++v) {
                const VecF root = inverse_root(fma(factor, curve[v], own)), inverse = root * root;
                if (c == 0) {
                    total[v] = fma(square[v], inverse, total[v]);
                    square[v] = square[v] * to_base_2;
                    widest[v] = inverse, bracket[v] = share * root;
                } else {
                    bracket[v] = fma(VecF(share * root), quick_exp2(VecF(square[v] * (inverse - widest[v]))), bracket[v]);
                }
            }
        }
        for (int v = 0; v < kVectors; ++v) product[v] = product[v] * (bracket[v] * norm);
        if (i % kProduct == kProduct - 1)
            for (int v = 0; v < kVectors; ++v) product[v] = take_exponent<float>(product[v], exponent[v]);
        if (i % kPatience == kPatience - 1 && !any_above(total, exponent, cut)) {
            finish(total, product, exponent, out);
            return false;
        }
    }
    finish(total, product, exponent, out);
    return true;
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

const MixtureKernels kernels = {kTile, score_shared, score_own, Simd<double>::lanes, careful};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const MixtureKernels* BADAC_NAME(mixture_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
