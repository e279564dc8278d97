// Compiled once per instruction set; see points_kernel.hpp for what is computed and simd.hpp for the rules.
#include "points_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;
constexpr int kTogether = 4;  // points added at a time, so that a sum is loaded and stored once for all of them
constexpr double kLog2Pi = 1.83787706640934548356;

int padded(const PointsModel& in) { return (in.j + in.r + 1 + L - 1) / L * L; }

int64_t work_size(const PointsModel& in) {
    const int64_t width = padded(in), knots = (in.n_knots + L - 1) / L * L;
    const int64_t rows = (in.longest + kTogether - 1) / kTogether * kTogether;
    return width * width + kTogether * width + rows * width + knots;
}

// The kernel at the knots, for a point at t.
void near_knots(const PointsModel& in, double t, double* near) {
    const int n = in.n_knots;
    if (isfinite(in.period)) {
        const double turn = 3.14159265358979323846 / in.period, reach = in.period / (3.14159265358979323846 * in.length);
        for (int k = 0; k < n; ++k) {
            const double chord = sin(turn * (t - in.knots[k])) * reach;
            near[k] = -0.5 * chord * chord;
        }
        for (int k = n; k % L; ++k) near[k] = 0.0;
        for (int k = 0; k < n; k += L) store(near + k, exp_negative(load<VecD>(near + k)));
        return;
    }
    const double rate = 2.23606797749978969641 / in.length;
    for (int k = 0; k < n; ++k) near[k] = fmin(fabs(t - in.knots[k]) * rate, 1e6);
    for (int k = n; k % L; ++k) near[k] = 0.0;
    for (int k = 0; k < n; k += L) {
        const VecD a = load<VecD>(near + k), one = broadcast<VecD>(1.0);
        const VecD series = fma(VecD(a * a), broadcast<VecD>(1.0 / 3.0), VecD(one + a));
        store(near + k, VecD(series * exp_negative(VecD(broadcast<VecD>(0.0) - a))));
    }
}

// A point's row: its local shapes, shapes and residual.
void make_row(const PointsModel& in, int64_t point, int64_t band, int width, double* near, double* row) {
    near_knots(in, in.at[point], near);
    const double* own = in.coefficients + band * (1 + in.n_knots) * width;
    for (int c = 0; c < width; c += L) {
        VecD even = load<VecD>(own + c), odd = broadcast<VecD>(0.0);
        int k = 0;
        for (; k + 1 < in.n_knots; k += 2) {
            even = fma(broadcast<VecD>(near[k]), load<VecD>(own + (k + 1) * width + c), even);
            odd = fma(broadcast<VecD>(near[k + 1]), load<VecD>(own + (k + 2) * width + c), odd);
        }
        if (k < in.n_knots) even = fma(broadcast<VecD>(near[k]), load<VecD>(own + (k + 1) * width + c), even);
        store(row + c, VecD(even + odd));
    }
    row[in.j + in.r] = in.values[point] - row[in.j + in.r];
}

// sum (width x width) += w x x' over `count` rows x, from the vector that holds the diagonal to the right; rows beyond `count` are 0.
void add_rows(const double* rows, const double* weighed, int size, int width, double* sum) {
    for (int a = 0; a < size; ++a) {
        VecD factor[kTogether];
        for (int k = 0; k < kTogether; ++k) factor[k] = broadcast<VecD>(weighed[k * width + a]);
        for (int c = a / L * L; c < width; c += L) {
            VecD total = load<VecD>(sum + a * width + c);
            for (int k = 0; k < kTogether; ++k) total = fma(factor[k], load<VecD>(rows + k * width + c), total);
            store(sum + a * width + c, total);
        }
    }
}

// Sweep the first j rows out of the symmetric sum + I / wide (its upper triangle); the log determinant of I + wide times that part.
double sweep(double* sum, int j, int size, int width, double wide) {
    double log_det = 0.0;
    for (int a = 0; a < j; ++a) {
        double* pivot = sum + a * width;
        const double value = pivot[a] + 1.0 / wide, inverse = 1.0 / value;
        log_det += log(wide * value);
        for (int b = a + 1; b < size; ++b) {
            const double f = pivot[b] * inverse;
            const VecD factor = broadcast<VecD>(-f);
            double* row = sum + b * width;
            for (int c = b / L * L; c < width; c += L) store(row + c, fma(factor, load<VecD>(pivot + c), load<VecD>(row + c)));
        }
    }
    return log_det;
}

void likelihood(const PointsModel& in, int64_t object, int64_t n, double* work, double* precision, double* shift, double* offset) {
    const int r = in.r, j = in.j, size = j + r + 1, width = padded(in), packed = r * (r + 1) / 2;
    double *sum = work, *weighed = sum + width * width, *near = weighed + kTogether * width, *rows = near + (in.n_knots + L - 1) / L * L;
    Attention attention;
    for (int s = 0; s < in.n_widths; ++s) {
        for (int e = 0; e < packed; ++e) precision[s * n * packed + e] = 0.0;
        for (int a = 0; a < r; ++a) shift[s * n * r + a] = 0.0;
        offset[s * n] = 0.0;
    }
    for (int64_t g = in.group[object]; g < in.group[object + 1]; ++g) {
        const int64_t start = in.first[g], count = in.first[g + 1] - start, band = in.band[g];
        for (int64_t k = 0; k < count; ++k) {
            attention.spent(int64_t(in.n_knots) * (width + 20));
            make_row(in, start + k, band, width, near, rows + k * width);
        }
        const int64_t whole = (count + kTogether - 1) / kTogether * kTogether;
        for (int64_t i = count * width; i < whole * width; ++i) rows[i] = 0.0;
        for (int s = 0; s < in.n_widths; ++s) {
            const double wide = in.widths[s], rough = wide * in.psi[band];
            double total = double(count) * kLog2Pi;
            for (int i = 0; i < width * width; ++i) sum[i] = 0.0;
            for (int64_t k = 0; k < whole; k += kTogether) {
                for (int i = 0; i < kTogether; ++i) {
                    const bool there = k + i < count;
                    const double variance = there ? in.variance[start + k + i] + rough : 1.0;
                    total += log(variance);
                    const VecD w = broadcast<VecD>(1.0 / variance);
                    for (int c = 0; c < width; c += L) store(weighed + i * width + c, VecD(w * load<VecD>(rows + (k + i) * width + c)));
                }
                attention.spent(int64_t(kTogether) * size * width);
                add_rows(rows + k * width, weighed, size, width, sum);
            }
            total += sweep(sum, j, size, width, wide);
            double* entry = precision + s * n * packed;
            for (int a = 0; a < r; ++a) {
                const double* row = sum + (j + a) * width + j;
                for (int c = a; c < r; ++c, ++entry) *entry += row[c];
                shift[s * n * r + a] += row[r];
            }
            offset[s * n] += total + sum[(j + r) * width + j + r];
        }
    }
}

const PointsKernels kernels = {L, work_size, likelihood};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const PointsKernels* BADAC_NAME(points_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
