// One vector type per instruction set, so that a kernel is written once and compiled once per level.
//
// A kernel source is compiled several times with different -m flags and a different BADAC_LEVEL (see CMakeLists.txt). Everything
// here lives in a namespace named after the level, and nothing from the standard library's templates is used in such a source:
// a linker keeps one copy of an inline function, and a copy compiled for a new CPU would crash an old one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#ifndef BADAC_LEVEL
#define BADAC_LEVEL baseline
#endif

// BADAC_PLAIN_VECTORS: what a compiler without GNU extensions gets, for testing it with one that has them (make plain).
#if (defined(__GNUC__) || defined(__clang__)) && !defined(BADAC_PLAIN_VECTORS)
#define BADAC_INLINE inline __attribute__((always_inline))
#define BADAC_LAMBDA_INLINE __attribute__((always_inline))
#define BADAC_VECTOR_EXTENSIONS 1
#else
#define BADAC_INLINE inline
#define BADAC_LAMBDA_INLINE
#endif
// Before a loop of a few turns whose number is known when compiling: compilers leave nested ones rolled, and then every entry of
// a small matrix goes through memory.
#if defined(BADAC_PLAIN_VECTORS) || defined(BADAC_ROLLED)  // rolled: for sanitizers, which are slow to compile
#define BADAC_UNROLL
#elif defined(__clang__)
#define BADAC_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define BADAC_UNROLL _Pragma("GCC unroll 16")
#else
#define BADAC_UNROLL
#endif

namespace badac {
namespace BADAC_LEVEL {

#ifdef BADAC_WITH_X86_LEVELS  // what the CPU has; levels above the baseline are only built by compilers that can ask
inline bool cpu_has_avx2() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
inline bool cpu_has_avx512() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

#if defined(BADAC_VECTOR_BYTES)
constexpr int kBytes = BADAC_VECTOR_BYTES;
#elif defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

#ifdef BADAC_VECTOR_EXTENSIONS
typedef double VecD __attribute__((vector_size(kBytes)));
typedef float VecF __attribute__((vector_size(kBytes)));
typedef int64_t IntD __attribute__((vector_size(kBytes)));
typedef int32_t IntF __attribute__((vector_size(kBytes)));
typedef uint64_t UIntD __attribute__((vector_size(kBytes)));
typedef uint32_t UIntF __attribute__((vector_size(kBytes)));
#else
// An array with operators: what the vector extensions of GCC and Clang are, for a compiler that has none.
template <class T, int N>
struct Plain {
    T x[N];
    T& operator[](int i) { return x[i]; }
    T operator[](int i) const { return x[i]; }
};
#define BADAC_PLAIN_OPERATOR(op)                                                    \
    template <class T, int N>                                                       \
    BADAC_INLINE Plain<T, N> operator op(const Plain<T, N>& a, const Plain<T, N>& b) { \
        Plain<T, N> c;                                                              \
        for (int i = 0; i < N; ++i) c.x[i] = T(a.x[i] op b.x[i]);                   \
        return c;                                                                   \
    }
BADAC_PLAIN_OPERATOR(+)
BADAC_PLAIN_OPERATOR(-)
BADAC_PLAIN_OPERATOR(*)
BADAC_PLAIN_OPERATOR(/)
BADAC_PLAIN_OPERATOR(&)
BADAC_PLAIN_OPERATOR(|)
#undef BADAC_PLAIN_OPERATOR
typedef Plain<double, kBytes / 8> VecD;
typedef Plain<float, kBytes / 4> VecF;
typedef Plain<int64_t, kBytes / 8> IntD;
typedef Plain<int32_t, kBytes / 4> IntF;
typedef Plain<uint64_t, kBytes / 8> UIntD;
typedef Plain<uint32_t, kBytes / 4> UIntF;
template <class T, int N>
BADAC_INLINE Plain<T, N> operator<<(const Plain<T, N>& a, int s) {
    Plain<T, N> c;
    for (int i = 0; i < N; ++i) c.x[i] = T(a.x[i] << s);
    return c;
}
template <class T, int N>
BADAC_INLINE Plain<T, N> operator>>(const Plain<T, N>& a, int s) {
    Plain<T, N> c;
    for (int i = 0; i < N; ++i) c.x[i] = T(a.x[i] >> s);
    return c;
}
#endif

// Facts about the two element types.
template <class T>
struct Simd;
template <>
struct Simd<double> {
    typedef VecD Vec;
    typedef IntD Int;
    typedef UIntD Bits;
    static constexpr int lanes = kBytes / 8, fraction_bits = 52, bias = 1023;
    static constexpr uint64_t fraction_mask = 0x000fffffffffffffULL, one = 0x3ff0000000000000ULL;
    static constexpr double round_magic = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr uint64_t count_bits = 0x4330000000000000ULL;  // the bits of 2^52
    static constexpr double count_value = 4503599627370496.0;
    static constexpr double exp_floor = -700.0;
};
template <>
struct Simd<float> {
    typedef VecF Vec;
    typedef IntF Int;
    typedef UIntF Bits;
    static constexpr int lanes = kBytes / 4, fraction_bits = 23, bias = 127;
    static constexpr uint32_t fraction_mask = 0x007fffffU, one = 0x3f800000U;
    static constexpr float round_magic = 12582912.0f;  // 1.5 * 2^23
    static constexpr uint32_t count_bits = 0x4b000000U;  // the bits of 2^23
    static constexpr float count_value = 8388608.0f;
    static constexpr float exp_floor = -87.0f;
};

template <class V>
BADAC_INLINE V load(const void* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class V>
BADAC_INLINE void store(void* p, const V& v) {
    std::memcpy(p, &v, sizeof v);
}
template <class To, class From>
BADAC_INLINE To same_bits(const From& v) {
    To w;
    std::memcpy(&w, &v, sizeof w);
    return w;
}
template <class V, class T>
BADAC_INLINE V broadcast(T x) {
#ifdef BADAC_VECTOR_EXTENSIONS
    return x - V{};  // the compiler's splat; x - 0 is x, bit for bit, also for -0.0 and infinities
#else
    V v;
    for (int i = 0; i < int(sizeof(V) / sizeof(T)); ++i) v.x[i] = x;
    return v;
#endif
}

// a * b + c, fused where the level has it. Explicit, so that the rounding does not depend on the compiler's mood.
BADAC_INLINE VecD fma(const VecD& a, const VecD& b, const VecD& c) {
#if defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecD)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecD)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return a * b + c;
#endif
}
BADAC_INLINE VecF fma(const VecF& a, const VecF& b, const VecF& c) {
#if defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecF)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return (VecF)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

// All ones in the lanes where a > b. (A function, since compilers disagree on the type of `a > b`.)
BADAC_INLINE IntD greater(const VecD& a, const VecD& b) {
#ifdef BADAC_VECTOR_EXTENSIONS
    return (IntD)(a > b);
#else
    IntD c;
    for (int i = 0; i < kBytes / 8; ++i) c.x[i] = a.x[i] > b.x[i] ? -1 : 0;
    return c;
#endif
}
BADAC_INLINE IntF greater(const VecF& a, const VecF& b) {
#ifdef BADAC_VECTOR_EXTENSIONS
    return (IntF)(a > b);
#else
    IntF c;
    for (int i = 0; i < kBytes / 4; ++i) c.x[i] = a.x[i] > b.x[i] ? -1 : 0;
    return c;
#endif
}

// Lanes of a where the mask is set (all ones), of b elsewhere.
template <class V, class I>
BADAC_INLINE V select(const I& mask, const V& a, const V& b) {
    const I x = same_bits<I>(a), y = same_bits<I>(b);
    return same_bits<V>(I((x & mask) | (y - (y & mask))));
}
// a where it is above b, b elsewhere (so also where one is no number): what the instructions of that name do.
template <class V>
BADAC_INLINE V larger(const V& a, const V& b) {
    return select(greater(a, b), a, b);
}
#if defined(__AVX2__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
#if defined(__AVX512F__)
BADAC_INLINE VecD larger(const VecD& a, const VecD& b) { return (VecD)_mm512_max_pd((__m512d)a, (__m512d)b); }
BADAC_INLINE VecF larger(const VecF& a, const VecF& b) { return (VecF)_mm512_max_ps((__m512)a, (__m512)b); }
#else
BADAC_INLINE VecD select(const IntD& mask, const VecD& a, const VecD& b) {
    return (VecD)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
}
BADAC_INLINE VecF select(const IntF& mask, const VecF& a, const VecF& b) {
    return (VecF)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
}
BADAC_INLINE VecD larger(const VecD& a, const VecD& b) { return (VecD)_mm256_max_pd((__m256d)a, (__m256d)b); }
BADAC_INLINE VecF larger(const VecF& a, const VecF& b) { return (VecF)_mm256_max_ps((__m256)a, (__m256)b); }
#endif
#endif
BADAC_INLINE unsigned lanes_set(const IntD& mask) {
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return unsigned(_mm256_movemask_pd((__m256d)mask));
#else
    unsigned bits = 0;
    for (int i = 0; i < kBytes / 8; ++i) bits |= unsigned(mask[i] & 1) << i;
    return bits;
#endif
}
BADAC_INLINE unsigned lanes_set(const IntF& mask) {
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    return unsigned(_mm256_movemask_ps((__m256)mask));
#else
    unsigned bits = 0;
    for (int i = 0; i < kBytes / 4; ++i) bits |= unsigned(mask[i] & 1) << i;
    return bits;
#endif
}

// The place of the lowest bit that is set.
BADAC_INLINE int lowest(unsigned bits) {
#ifdef BADAC_VECTOR_EXTENSIONS
    return __builtin_ctz(bits);
#else
    int place = 0;
    for (; !(bits & 1u); bits >>= 1) ++place;
    return place;
#endif
}

}  // namespace BADAC_LEVEL
}  // namespace badac
