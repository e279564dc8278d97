// Rows become lanes: L vectors, one of each object, become L vectors, one of each point. For kernel sources only (see simd.hpp).
#pragma once
#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {

template <int N>
BADAC_INLINE void transpose(VecD (&rows)[N]) {
    static_assert(N == Simd<double>::lanes, "a square");
#if defined(__AVX512F__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    __m512d pair[8], four[8];
    BADAC_UNROLL for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm512_unpacklo_pd((__m512d)rows[i], (__m512d)rows[i + 1]);
        pair[i + 1] = _mm512_unpackhi_pd((__m512d)rows[i], (__m512d)rows[i + 1]);
    }
    // Quarters of two vectors: 0x88 takes the even ones of both, 0xdd the odd ones.
    BADAC_UNROLL for (int i = 0; i < 8; i += 4)
        BADAC_UNROLL for (int j = 0; j < 2; ++j) {
            four[i + j] = _mm512_shuffle_f64x2(pair[i + j], pair[i + j + 2], 0x88);
            four[i + j + 2] = _mm512_shuffle_f64x2(pair[i + j], pair[i + j + 2], 0xdd);
        }
    BADAC_UNROLL for (int j = 0; j < 4; ++j) {
        rows[j] = (VecD)_mm512_shuffle_f64x2(four[j], four[j + 4], 0x88);
        rows[j + 4] = (VecD)_mm512_shuffle_f64x2(four[j], four[j + 4], 0xdd);
    }
#elif defined(__AVX2__) && !defined(BADAC_VECTOR_BYTES) && defined(BADAC_VECTOR_EXTENSIONS)
    const __m256d a = _mm256_unpacklo_pd((__m256d)rows[0], (__m256d)rows[1]), b = _mm256_unpackhi_pd((__m256d)rows[0], (__m256d)rows[1]);
    const __m256d c = _mm256_unpacklo_pd((__m256d)rows[2], (__m256d)rows[3]), d = _mm256_unpackhi_pd((__m256d)rows[2], (__m256d)rows[3]);
    rows[0] = (VecD)_mm256_permute2f128_pd(a, c, 0x20), rows[1] = (VecD)_mm256_permute2f128_pd(b, d, 0x20);
    rows[2] = (VecD)_mm256_permute2f128_pd(a, c, 0x31), rows[3] = (VecD)_mm256_permute2f128_pd(b, d, 0x31);
#else
    double lanes[N][N];
    for (int i = 0; i < N; ++i) store(lanes[i], rows[i]);
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) rows[i][j] = lanes[j][i];
#endif
}

}  // namespace BADAC_LEVEL
}  // namespace badac
