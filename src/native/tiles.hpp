// Products of matrices by tiles of registers. For kernel sources only, one copy in each (see simd.hpp).
#pragma once
#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// A tile of sums that stays in registers: rows, and vectors of each.
constexpr int kRows = Simd<double>::lanes >= 8 ? 8 : 4, kVectors = Simd<double>::lanes >= 4 ? 3 : 2;

template <class T>
struct Left {
    const T* first;
    int64_t row, step;  // from row to row, and from k to k
};

// sums (kRows, V vectors) = or += sum over k of left[i, k] right[k, :].
template <int V, bool ADD, class T, class S>
BADAC_INLINE void tile(const Left<T>& left, const T* right, int64_t width, int64_t count, S* sums, int64_t stride) {
    typedef typename Simd<T>::Vec Vec;
    constexpr int kLanes = Simd<T>::lanes;
    constexpr bool kSame = sizeof(T) == sizeof(S);
    Vec total[kRows][V];
    BADAC_UNROLL for (int i = 0; i < kRows; ++i)
        BADAC_UNROLL for (int v = 0; v < V; ++v) total[i][v] = ADD && kSame ? load<Vec>(sums + i * stride + v * kLanes) : broadcast<Vec>(T(0));
    for (int64_t k = 0; k < count; ++k) {
        Vec x[V];
        BADAC_UNROLL for (int v = 0; v < V; ++v) x[v] = load<Vec>(right + k * width + v * kLanes);
        BADAC_UNROLL for (int i = 0; i < kRows; ++i) {
            const Vec factor = broadcast<Vec>(left.first[i * left.row + k * left.step]);
            BADAC_UNROLL for (int v = 0; v < V; ++v) total[i][v] = fma(factor, x[v], total[i][v]);
        }
    }
    if (kSame) {
        BADAC_UNROLL for (int i = 0; i < kRows; ++i)
            BADAC_UNROLL for (int v = 0; v < V; ++v) store(sums + i * stride + v * kLanes, total[i][v]);
        return;
    }
    // Sums of these few terms in single precision, of all of them in double.
    for (int i = 0; i < kRows; ++i)
        for (int v = 0; v < V; ++v)
            for (int lane = 0; lane < kLanes; ++lane) {
                S& sum = sums[i * stride + v * kLanes + lane];
                sum = (ADD ? sum : S(0)) + S(total[i][v][lane]);
            }
}

// A row of tiles of the product of left and right (count, width): columns from..columns, whole vectors.
template <bool ADD, class T, class S>
BADAC_INLINE void tiles(const Left<T>& left, const T* right, int64_t width, int64_t from, int64_t columns, int64_t count, S* sums, int64_t stride) {
    constexpr int kLanes = Simd<T>::lanes;
    int64_t c = from;
    for (; c + kVectors * kLanes <= columns; c += kVectors * kLanes) tile<kVectors, ADD>(left, right + c, width, count, sums + c, stride);
    if (kVectors > 2 && c + 2 * kLanes <= columns) tile<2, ADD>(left, right + c, width, count, sums + c, stride), c += 2 * kLanes;
    if (c + kLanes <= columns) tile<1, ADD>(left, right + c, width, count, sums + c, stride);
}

// The product of left (rows, count), rows a multiple of kRows, and right (count, width); sums (rows, columns).
template <bool ADD>
BADAC_INLINE void product(Left<double> left, int64_t rows, const double* right, int64_t width, int64_t columns, int64_t count, double* sums) {
    for (int64_t i = 0; i < rows; i += kRows, left.first += kRows * left.row)
        tiles<ADD>(left, right, width, 0, columns, count, sums + i * columns, columns);
}

// Add the upper triangle of block' block to sums (points, points), block (count, points); points a multiple of every tile.
template <class T>
BADAC_INLINE void add_square(const T* block, int64_t points, int64_t count, double* sums) {
    constexpr int kLanes = Simd<T>::lanes;
    for (int64_t i = 0; i < points; i += kRows)
        tiles<true>(Left<T>{block + i, 1, points}, block, points, i / kLanes * kLanes, points, count, sums + i * points, points);
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
