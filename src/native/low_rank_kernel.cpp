// Compiled once per instruction set; see low_rank_kernel.hpp for what is computed and simd.hpp for the rules.
#include "low_rank_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "point_sums.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int kTogether = 4;  // points whose columns are added at a time: few points know of a column

int64_t work_size(const LowRankModel& in) {
    const int64_t all = padded(in.j + in.r + in.q + 1), both = padded(in.r + 2 * in.q + 1), few = padded(in.j + in.r + 1), q = padded(in.q);
    const int64_t gained = kChunk * all + all * all + 3 * both * both + q + kWhole;
    const int64_t filtered = kChunk * few + few * few + few * q + (kTogether + 2) * q;
    return gained > filtered ? gained : filtered;
}

// Whole vectors, then what is left: neighbours, of which there are few, are not known to be apart when compiling.
BADAC_INLINE double* copied(const double* from, int count, double* to) {
    int c = 0;
    for (; c + L <= count; c += L) store(to + c, load<VecD>(from + c));
    for (; c < count; ++c) to[c] = from[c];
    return to + count;
}

// Points from `begin` on, before `end` and at most kChunk, as rows of `width`.
struct Gathered {
    int64_t count;
    double variance[kChunk], weights[kChunk];

    Gathered(const LowRankModel& in, const LowRankObject& object, int64_t begin, int64_t end, int q, int width, double* rows)
        : count(end - begin < kChunk ? end - begin : kChunk) {
        for (int64_t k = 0; k < count; ++k) {
            const int64_t point = object.order[begin + k], at = object.row * in.p + point;
            double *row = rows + k * width, *to = row;
            to = copied(in.local + at * in.j, in.j, to);
            to = copied(in.shapes + at * in.r, in.r, to);
            to = copied(in.columns + (object.place * in.p + point) * in.q, q, to);
            *to++ = in.residual[at];
            while (to < row + width) *to++ = 0.0;
            variance[k] = in.variance[at];
            weights[k] = 1.0 / variance[k];
        }
    }
};

// The points of `object` from `begin` on that are of one band: where they end.
int64_t end_of_band(const LowRankModel& in, const LowRankObject& object, int64_t begin) {
    const int64_t* band = in.band + object.row * in.p;
    int64_t end = begin + 1;
    while (end < object.count && band[object.order[end]] == band[object.order[begin]]) ++end;
    return end;
}

// Add the points of one band to a sum (size x size, rows `width` apart) of local shapes, shapes, q columns and residual, and sweep the
// local shapes out: what comes after them adds up over the bands. Log determinants of both, the 2 pi too.
double add_band(const LowRankModel& in, const LowRankObject& object, int64_t begin, int64_t end, int q, int width, double* rows, double* sum) {
    const int size = in.j + in.r + q + 1;
    double total = double(end - begin) * kLog2Pi;
    zero(sum, int64_t(in.j) * width);
    for (int64_t k = begin; k < end; k += kChunk) {
        const Gathered points(in, object, k, end, q, width, rows);
        total += sum_of_logs(points.variance, points.count);
        add_rows(rows, points.weights, points.count, size, width, sum);
    }
    return total + sweep(sum, 0, in.j, size, width, 1.0);
}

double offset(const LowRankModel& in, const LowRankObject& object, double* memory) {
    const int last = in.j + in.r, size = last + 1, width = padded(size);
    double *rows = memory, *sum = rows + kChunk * width, total = 0.0;
    Attention attention;
    zero(sum, int64_t(width) * width);
    for (int64_t begin = 0, end; begin < object.count; begin = end) {
        end = end_of_band(in, object, begin);
        attention.spent((end - begin + in.j) * width * width);
        total += add_band(in, object, begin, end, 0, width, rows, sum);
    }
    total += sweep(sum, in.j, last, size, width, 1.0);
    return total + sum[last * width + last];
}

// As `sweep`, with columns (size, q) to the right whose products with each other are not there but for their squares (`squares`).
void sweep_with(double* sum, int first, int last, int size, int width, double* columns, int q, double* squares) {
    double taken[kPivots * kTile];
    for (int begin = first; begin < last; begin += kPivots) {
        const Pivots pivots(sum, begin, last, width, 1.0);
        double* across = columns + int64_t(begin) * q;
        for (int k = 0; k < pivots.count; ++k) {
            const double* pivot = sum + int64_t(begin + k) * width + begin;
            for (int i = k + 1; i < pivots.count; ++i) {
                const VecD factor = broadcast<VecD>(-pivot[i] * pivots.inverse[k]);
                for (int c = 0; c < q; c += L) {
                    double* to = across + int64_t(i) * q + c;
                    store(to, fma(factor, load<VecD>(across + int64_t(k) * q + c), load<VecD>(to)));
                }
            }
        }
        for (int a = begin + pivots.count; a < size; a += kTile) {
            const int n = size - a < kTile ? size - a : kTile;
            pivots.factors(sum, a, width, taken);
            add_tile_of(n, taken, sum + int64_t(begin) * width, pivots.count, width, a / L * L, sum + int64_t(a) * width);
            add_tile_of(n, taken, across, pivots.count, q, 0, columns + int64_t(a) * q);
        }
        for (int c = 0; c < q; c += L) {
            VecD square = load<VecD>(squares + c);
            for (int k = 0; k < pivots.count; ++k) {
                const VecD x = load<VecD>(across + int64_t(k) * q + c);
                square = fma(VecD(broadcast<VecD>(-pivots.inverse[k]) * x), x, square);
            }
            store(squares + c, square);
        }
    }
}

// Products of kTogether rows with the columns of the same points, weighed, and the weighed squares of those.
void add_columns(const double* rows, const double* weights, int size, int width, const double* const* columns, int q, double* sum, double* squares) {
    const VecD none = broadcast<VecD>(0.0), least = broadcast<VecD>(5e-324);
    for (int c = 0; c < q; c += L) {
        VecD x[kTogether], some = none, square = load<VecD>(squares + c);
        for (int k = 0; k < kTogether; ++k) {
            x[k] = load<VecD>(columns[k] + c);
            some = some + larger(x[k], VecD(none - x[k]));
        }
        // Smaller than the least number there is: nothing at these points. What is no number is not smaller.
        if (lanes_set(greater(least, some)) == (1u << L) - 1u) continue;
        for (int k = 0; k < kTogether; ++k) {
            const VecD weighed = broadcast<VecD>(weights[k]) * x[k];
            square = fma(weighed, x[k], square);
            x[k] = weighed;
        }
        store(squares + c, square);
        for (int a = 0; a < size; ++a) {
            VecD total = load<VecD>(sum + int64_t(a) * q + c);
            for (int k = 0; k < kTogether; ++k) total = fma(broadcast<VecD>(rows[k * width + a]), x[k], total);
            store(sum + int64_t(a) * q + c, total);
        }
    }
}

void filtered(const LowRankModel& in, const LowRankObject& object, double* memory, double* signal, double* precision) {
    const int j = in.j, last = j + in.r, all = last + 1, width = padded(all), q = padded(in.q);
    double *rows = memory, *sum = rows + kChunk * width, *across = sum + width * width, *columns = across + int64_t(width) * q;
    double *squares = columns + int64_t(kTogether) * q, *none = squares + q;
    Attention attention;
    zero(sum, int64_t(width) * width);
    zero(across, int64_t(all) * q);
    zero(squares, q);
    zero(columns, int64_t(kTogether) * q);
    zero(none, q);
    for (int64_t begin = 0, end; begin < object.count; begin = end) {
        end = end_of_band(in, object, begin);
        zero(sum, int64_t(j) * width);
        zero(across, int64_t(j) * q);
        for (int64_t k = begin; k < end; k += kChunk) {
            const Gathered points(in, object, k, end, 0, width, rows);
            attention.spent(points.count * all * (width + q));
            add_rows(rows, points.weights, points.count, all, width, sum);
            for (int64_t i = points.count; i % kTogether; ++i) zero(rows + i * width, width);
            for (int64_t i = 0; i < points.count; i += kTogether) {
                double weights[kTogether];
                const double* of_point[kTogether];
                for (int64_t t = 0; t < kTogether; ++t) {
                    const bool there = i + t < points.count;
                    weights[t] = there ? points.weights[i + t] : 0.0;
                    of_point[t] = there ? in.columns + (object.place * in.p + object.order[k + i + t]) * in.q : none;
                    if (!there || q == in.q) continue;
                    double* to = columns + t * q;  // with the padding, which is 0
                    for (int c = 0; c < in.q; ++c) to[c] = of_point[t][c];
                    of_point[t] = to;
                }
                add_columns(rows + i * width, weights, all, width, of_point, q, across, squares);
            }
        }
        attention.spent(int64_t(j) * all * (width + q));
        sweep_with(sum, 0, j, all, width, across, q, squares);
    }
    sweep_with(sum, j, last, all, width, across, q, squares);
    for (int c = 0; c < in.q; ++c) {
        signal[c] = across[int64_t(last) * q + c];
        precision[c] = squares[c];
    }
}

// The bands have the coefficients in common: shapes are swept out of the whole once, then columns of each size.
void gain_in_common(const LowRankModel& in, const LowRankObject& object, const double* sizes, int64_t count, double* memory, double* out) {
    const int q = in.q, shapes = in.j + in.r, size = shapes + q + 1, width = padded(size), narrow = padded(q + 1), last = q * narrow + q;
    double *rows = memory, *sum = rows + kChunk * width, *scaled = sum + int64_t(width) * width, *scale = scaled + int64_t(narrow) * narrow;
    Attention attention;
    zero(sum, int64_t(width) * width);
    for (int64_t begin = 0, end; begin < object.count; begin = end) {
        end = end_of_band(in, object, begin);
        attention.spent((end - begin + in.j) * width * width);
        add_band(in, object, begin, end, q, width, rows, sum);
    }
    sweep(sum, in.j, shapes, size, width, 1.0);
    zero(scale, narrow);
    scale[q] = 1.0;
    for (int64_t s = 0; s < count; ++s) {
        attention.spent(int64_t(q) * q * narrow);
        for (int a = 0; a < q; ++a) scale[a] = sizes[s * q + a];
        for (int a = 0; a <= q; ++a) {
            const double* from = sum + int64_t(shapes + a) * width + shapes;
            double* to = scaled + int64_t(a) * narrow;
            for (int c = 0; c < a; ++c) to[c] = 0.0;
            for (int c = a; c <= q; ++c) to[c] = scale[a] * scale[c] * from[c];
            for (int c = q + 1; c < narrow; ++c) to[c] = 0.0;
        }
        const double before = scaled[last], log_det = sweep(scaled, 0, q, q + 1, narrow, 1.0);
        out[s] = 0.5 * (before - scaled[last] - log_det);
    }
}

// The only point of a band: local shapes, and the part of the columns that is the band's own, are variances of it. It is added to what
// shapes, the part in common and the residual say, and to what shapes and residual say alone; the logarithm of the variance gained.
double add_single(const LowRankModel& in, const LowRankObject& object, int64_t at, const double* own, double of_band, double of_all, int all,
                  double* rows, int width, double* whole, int few, double* plain) {
    const int r = in.r, j = in.j, q = in.q;
    const Gathered point(in, object, at, at + 1, q, all, rows);
    double variance = point.variance[0], gained = 0.0;
    for (int c = 0; c < j; ++c) variance += rows[c] * rows[c];
    double* row = rows + j;  // shapes, columns, residual
    for (int c = r; c < r + q; ++c) {
        row[c] *= own[c - r];
        gained += of_band * of_band * row[c] * row[c];
        row[c] *= of_all;
    }
    const double weight = 1.0 / (variance + gained), without = 1.0 / variance;
    for (int a = 0; a <= r + q; ++a)
        for (int c = a; c <= r + q; ++c) whole[int64_t(a) * width + c] += weight * row[a] * row[c];
    for (int a = 0; a <= r; ++a)
        for (int c = a; c <= r; ++c) plain[a * few + c] += without * row[a < r ? a : r + q] * row[c < r ? c : r + q];
    return log((variance + gained) / variance);
}

// Every band has a part of its own: it is swept out of its points first, for each size. What is left is shapes, the part in
// common, and the residual. Beside it shapes and residual alone, for the density without columns.
void gain_of_bands(const LowRankModel& in, const LowRankObject& object, const double* own, double common, double* memory, double* out) {
    const int r = in.r, j = in.j, q = in.q, part = r + q + 1, all = padded(j + part);
    const int size = r + q + 1, width = padded(size), both = q + size, wide = padded(both), few = padded(r + 1);
    double *rows = memory, *sum = rows + kChunk * all, *band = sum + int64_t(all) * all, *whole = band + int64_t(wide) * wide;
    double *plain = whole + int64_t(width) * width, log_det = 0.0;
    const double of_band = sqrt(1.0 - common), of_all = sqrt(common);
    Attention attention;
    zero(whole, int64_t(width) * width);
    zero(plain, int64_t(few) * few);
    for (int64_t begin = 0, end; begin < object.count; begin = end) {
        end = end_of_band(in, object, begin);
        if (end - begin == 1) {
            attention.spent(int64_t(size) * width);
            log_det += add_single(in, object, begin, own, of_band, of_all, all, rows, width, whole, few, plain);
            continue;
        }
        attention.spent((end - begin + j) * all * all + int64_t(q) * wide * wide);
        zero(sum, int64_t(all) * all);
        add_band(in, object, begin, end, q, all, rows, sum);
        for (int a = 0; a < part; ++a)
            for (int c = 0; c < a; ++c) sum[int64_t(j + a) * all + j + c] = sum[int64_t(j + c) * all + j + a];
        // Columns stand for the part of the band's own (first) and for the one in common (between shapes and residual).
        zero(band, int64_t(wide) * wide);
        for (int a = 0; a < both; ++a) {
            const int from = a < q ? r + a : a - q;
            const double scale = a < q ? of_band * own[a] : from < r || from == r + q ? 1.0 : of_all * own[from - r];
            const double* row = sum + int64_t(j + from) * all + j;
            double* to = band + int64_t(a) * wide;
            for (int c = a; c < q; ++c) to[c] = scale * of_band * own[c] * row[r + c];
            for (int c = a > q ? a : q; c < q + r; ++c) to[c] = scale * row[c - q];
            for (int c = a > q + r ? a : q + r; c < both - 1; ++c) to[c] = scale * of_all * own[c - q - r] * row[c - q];
            to[both - 1] = scale * row[r + q];
        }
        for (int a = 0; a <= r; ++a)
            for (int c = a; c <= r; ++c) plain[a * few + c] += sum[int64_t(j + (a < r ? a : r + q)) * all + j + (c < r ? c : r + q)];
        log_det += sweep(band, 0, q, both, wide, 1.0);
        for (int a = 0; a < size; ++a)
            for (int c = a; c < size; ++c) whole[int64_t(a) * width + c] += band[int64_t(q + a) * wide + q + c];
    }
    log_det += sweep(whole, 0, r + q, size, width, 1.0) - sweep(plain, 0, r, r + 1, few, 1.0);
    *out = 0.5 * (plain[r * few + r] - whole[int64_t(r + q) * width + r + q] - log_det);
}

void gain(const LowRankModel& in, const LowRankObject& object, const double* sizes, int64_t count, double common, double* memory, double* out) {
    if (common == 1.0) return gain_in_common(in, object, sizes, count, memory, out);
    for (int64_t s = 0; s < count; ++s) gain_of_bands(in, object, sizes + s * in.q, common, memory, out + s);
}

const LowRankKernels kernels = {work_size, offset, filtered, gain};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const LowRankKernels* BADAC_NAME(low_rank_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
