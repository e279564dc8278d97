// Compiled once per instruction set; see mixture_kernel.hpp for what is computed.
#include "mixture_kernel.hpp"

#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int kLanes = Simd<float>::lanes, kVectors = 2, kTile = kLanes * kVectors;
constexpr int kProduct = 4;   // brackets multiplied before the exponent is taken out: each may be 1e-9
constexpr int kPatience = 8;  // points between looks at whether the tile still matters
constexpr float kLn2 = 0.69314718f;

BADAC_INLINE VecF root(const VecF& x) {
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecF)_mm256_sqrt_ps((__m256)x);
#else
    VecF y = x;
    for (int i = 0; i < kLanes; ++i) y[i] = __builtin_sqrtf(x[i]);
    return y;
#endif
}

// exp x for x <= 0 to 3e-6: a bracket needs no more, since what matters is computed again.
BADAC_INLINE VecF quick_exp(VecF x) {
    x = larger(x, broadcast<VecF>(Simd<float>::exp_floor));
    const VecF shift = broadcast<VecF>(Simd<float>::round_magic);
    const VecF rounded = fma(x, broadcast<VecF>(1.44269504f), shift), k = rounded - shift;
    const VecF r = fma(k, broadcast<VecF>(-0.69314718f), x);
    VecF p = fma(broadcast<VecF>(1.0f / 120), r, broadcast<VecF>(1.0f / 24));
    p = fma(p, r, broadcast<VecF>(1.0f / 6));
    p = fma(p, r, broadcast<VecF>(0.5f));
    p = fma(p, r, broadcast<VecF>(1.0f));
    p = fma(p, r, broadcast<VecF>(1.0f));
    const UIntF scale = (same_bits<UIntF>(rounded) << 23) + broadcast<UIntF>(Simd<float>::one);
    return p * same_bits<VecF>(scale);
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
            for (int v = 0; v < kVectors; ++v) bracket[v] = fma(height, quick_exp(VecF(rate * square[v])), bracket[v]);
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
    const VecF one = broadcast<VecF>(1.0f), half = broadcast<VecF>(-0.5f);
    VecF total[kVectors], product[kVectors], exponent[kVectors];
    for (int v = 0; v < kVectors; ++v)
        total[v] = broadcast<VecF>(0.0f), product[v] = broadcast<VecF>(1.0f), exponent[v] = broadcast<VecF>(0.0f);
    for (int i = 0; i < object.n_points; ++i) {
        const float* row = tile + int64_t(object.point[i]) * 2 * kTile;
        const float* coefficient = object.coefficient + int64_t(i) * 2;
        const VecF value = broadcast<VecF>(object.value[i]);
        const VecF variance = broadcast<VecF>(coefficient[0]), norm = broadcast<VecF>(coefficient[1]);
        for (int v = 0; v < kVectors; ++v) {
            const VecF r = value - load<VecF>(row + v * kLanes), curve = load<VecF>(row + kTile + v * kLanes);
            const VecF square = half * r * r;
            VecF widest = broadcast<VecF>(0.0f), bracket = broadcast<VecF>(0.0f);
            for (int c = 0; c < n_components; ++c) {
                const VecF own = broadcast<VecF>(widths.object_factor[c]) * variance;
                const VecF inverse = one / fma(broadcast<VecF>(widths.curve_factor[c]), curve, own);
                const VecF height = broadcast<VecF>(widths.share[c]) * root(inverse);
                if (c == 0) {
                    widest = inverse, bracket = height;
                } else {
                    bracket = fma(height, quick_exp(VecF(square * (inverse - widest))), bracket);
                }
            }
            total[v] = fma(square, widest, total[v]);
            product[v] = product[v] * (bracket * norm);
        }
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

const MixtureKernels kernels = {kTile, score_shared, score_own};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const MixtureKernels* BADAC_NAME(mixture_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
