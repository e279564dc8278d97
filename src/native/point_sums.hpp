// Sums of w x x' over the points of an object, and what is integrated out of them. Shared by the kernels for points of an object's
// own (points_kernel.cpp, low_rank_kernel.cpp); for sources compiled once per instruction set only: see simd.hpp for the rules.
#pragma once
#include <math.h>

#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;
constexpr int kTile = 4;    // rows of a sum that are in registers together, two vectors of each: eight chains of multiply-adds
constexpr int kChunk = 32;  // points added at a time, so that a sum is loaded and stored once for all of them
constexpr int kPivots = 8;  // rows that are swept out at a time, for the same reason
constexpr double kLog2Pi = 1.83787706640934548356;

// Rows are padded to whole vectors, and to whole tiles.
constexpr int kWhole = L > kTile ? L : kTile;
inline int padded(int size) { return (size + kWhole - 1) / kWhole * kWhole; }

inline void zero(double* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = 0.0;
}

// sum (R rows of `width`) += factors' rows in the V vectors from column c on; factors (count, kTile), rows (count, width).
template <int R, int V>
BADAC_INLINE void add_vectors(const double* factors, const double* rows, int64_t count, int width, int c, double* sum) {
    VecD total[R][V];
    BADAC_UNROLL
    for (int i = 0; i < R; ++i) {
        BADAC_UNROLL
        for (int v = 0; v < V; ++v) total[i][v] = load<VecD>(sum + int64_t(i) * width + c + v * L);
    }
    for (int64_t k = 0; k < count; ++k) {
        VecD x[V];
        BADAC_UNROLL
        for (int v = 0; v < V; ++v) x[v] = load<VecD>(rows + k * width + c + v * L);
        BADAC_UNROLL
        for (int i = 0; i < R; ++i) {
            const VecD factor = broadcast<VecD>(factors[k * kTile + i]);
            BADAC_UNROLL
            for (int v = 0; v < V; ++v) total[i][v] = fma(factor, x[v], total[i][v]);
        }
    }
    BADAC_UNROLL
    for (int i = 0; i < R; ++i) {
        BADAC_UNROLL
        for (int v = 0; v < V; ++v) store(sum + int64_t(i) * width + c + v * L, total[i][v]);
    }
}

// The same in one vector, points two by two: a chain of multiply-adds takes four times as long as one that waits for nobody.
template <int R>
BADAC_INLINE void add_vector(const double* factors, const double* rows, int64_t count, int width, int c, double* sum) {
    VecD even[R], odd[R];
    BADAC_UNROLL
    for (int i = 0; i < R; ++i) {
        even[i] = load<VecD>(sum + int64_t(i) * width + c);
        odd[i] = broadcast<VecD>(0.0);
    }
    int64_t k = 0;
    for (; k + 1 < count; k += 2) {
        const VecD x = load<VecD>(rows + k * width + c), y = load<VecD>(rows + (k + 1) * width + c);
        BADAC_UNROLL
        for (int i = 0; i < R; ++i) {
            even[i] = fma(broadcast<VecD>(factors[k * kTile + i]), x, even[i]);
            odd[i] = fma(broadcast<VecD>(factors[(k + 1) * kTile + i]), y, odd[i]);
        }
    }
    if (k < count) {
        const VecD x = load<VecD>(rows + k * width + c);
        BADAC_UNROLL
        for (int i = 0; i < R; ++i) even[i] = fma(broadcast<VecD>(factors[k * kTile + i]), x, even[i]);
    }
    BADAC_UNROLL
    for (int i = 0; i < R; ++i) store(sum + int64_t(i) * width + c, VecD(even[i] + odd[i]));
}

// The same from column c on, a multiple of the lanes, to the end: two vectors at a time, the last three together.
template <int R>
BADAC_INLINE void add_tile(const double* factors, const double* rows, int64_t count, int width, int c, double* sum) {
    int left = (width - c) / L;
    for (; left == 2 || left > 3; left -= 2, c += 2 * L) add_vectors<R, 2>(factors, rows, count, width, c, sum);
    if (left == 3) add_vectors<R, 3>(factors, rows, count, width, c, sum);
    if (left == 1) add_vector<R>(factors, rows, count, width, c, sum);
}

// The same for as many rows as there are, at most kTile.
inline void add_tile_of(int n, const double* factors, const double* rows, int64_t count, int width, int c, double* sum) {
    if (n >= 4) return add_tile<4>(factors, rows, count, width, c, sum);
    if (n == 3) return add_tile<3>(factors, rows, count, width, c, sum);
    if (n == 2) return add_tile<2>(factors, rows, count, width, c, sum);
    add_tile<1>(factors, rows, count, width, c, sum);
}

// sum (size rows of `width`) += w x x' over at most kChunk rows x, from the vector that holds the diagonal to the right; of rows from the
// tile on that holds `first`.
inline void add_rows(const double* rows, const double* weights, int64_t count, int size, int width, double* sum, int first = 0) {
    double factors[kChunk * kTile];
    for (int a = first / kTile * kTile; a < size; a += kTile) {
        const int n = size - a < kTile ? size - a : kTile;
        // Of all rows of the tile, though there may be fewer: they are padded.
        for (int64_t k = 0; k < count; ++k) {
            const double* from = rows + k * width + a;
            if constexpr (L <= kTile) {
                const VecD weight = broadcast<VecD>(weights[k]);
                for (int i = 0; i < kTile; i += L) store(factors + k * kTile + i, VecD(weight * load<VecD>(from + i)));
            } else {
                for (int i = 0; i < kTile; ++i) factors[k * kTile + i] = weights[k] * from[i];
            }
        }
        add_tile_of(n, factors, rows, count, width, a / L * L, sum + int64_t(a) * width);
    }
}

// The sum of the logarithms of positive numbers: one logarithm for all, unless their product is no number any more.
inline double sum_of_logs(const double* numbers, int64_t count) {
    double product = 1.0, least = INFINITY;
    for (int64_t k = 0; k < count; ++k) {
        product *= numbers[k];
        least = numbers[k] < least ? numbers[k] : least;
    }
    if (least > 0.0 && product > 1e-280 && product < 1e280) return log(product);
    double total = 0.0;
    for (int64_t k = 0; k < count; ++k) total += log(numbers[k]);
    return total;
}

// At most kPivots rows that are swept out of a sum together: what is left of them, and what they take from the others.
struct Pivots {
    int first, count;
    double value[kPivots], inverse[kPivots];

    // Sweep rows from `begin` on, before `end`, out of each other; `added` to the diagonal.
    Pivots(double* sum, int begin, int end, int width, double added) : first(begin), count(end - begin < kPivots ? end - begin : kPivots) {
        for (int k = 0; k < count; ++k) {
            const double* pivot = sum + int64_t(first + k) * width;
            value[k] = pivot[first + k] + added;
            inverse[k] = 1.0 / value[k];
            for (int i = k + 1; i < count; ++i) {
                const VecD factor = broadcast<VecD>(-pivot[first + i] * inverse[k]);
                double* row = sum + int64_t(first + i) * width;
                for (int c = (first + i) / L * L; c < width; c += L) store(row + c, fma(factor, load<VecD>(pivot + c), load<VecD>(row + c)));
            }
        }
    }

    // Of each pivot, how much of it is taken from kTile rows of the sum, from a on; factors (count, kTile).
    void factors(const double* sum, int a, int width, double* found) const {
        for (int k = 0; k < count; ++k)
            for (int i = 0; i < kTile; ++i) found[k * kTile + i] = -inverse[k] * sum[int64_t(first + k) * width + a + i];
    }
};

// Sweep rows from `first` on, before `last`, out of those after them in the symmetric sum + I / wide (its upper triangle); the log
// determinant of I + wide times that part.
inline double sweep(double* sum, int first, int last, int size, int width, double wide) {
    double log_det = 0.0, taken[kPivots * kTile];
    for (int begin = first; begin < last; begin += kPivots) {
        Pivots pivots(sum, begin, last, width, 1.0 / wide);
        for (int a = begin + pivots.count; a < size; a += kTile) {
            const int n = size - a < kTile ? size - a : kTile;
            pivots.factors(sum, a, width, taken);
            add_tile_of(n, taken, sum + int64_t(begin) * width, pivots.count, width, a / L * L, sum + int64_t(a) * width);
        }
        for (int k = 0; k < pivots.count; ++k) pivots.value[k] *= wide;
        log_det += sum_of_logs(pivots.value, pivots.count);
    }
    return log_det;
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
