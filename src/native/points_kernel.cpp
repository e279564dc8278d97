// Compiled once per instruction set; see points_kernel.hpp for what is computed and simd.hpp for the rules.
#include "points_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "point_sums.hpp"
#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr double kHopeless = 20.0;  // nats: such a shift has no weight among the others

int padded(const PointsModel& in) { return padded(in.j + in.r + 1); }

int64_t work_size(const PointsModel& in) {
    const int64_t width = padded(in), knots = (in.n_knots + L - 1) / L * L, points = (in.longest + L - 1) / L * L;
    return in.n_widths * width * width + in.longest * width + knots + 5 * points;
}

// What one thread works with.
struct Work {
    double *sum, *near, *rows, *at, *before, *after, *exp_before, *exp_after;
    Work(const PointsModel& in, double* memory) {
        const int64_t width = padded(in), points = (in.longest + L - 1) / L * L;
        sum = memory;
        rows = sum + in.n_widths * width * width;
        near = rows + in.longest * width;
        at = near + (in.n_knots + L - 1) / L * L;
        before = at + points;
        after = before + points;
        exp_before = after + points;
        exp_after = exp_before + points;
    }
};

// The periodic kernel at the knots, for a point at t.
void near_knots(const PointsModel& in, double t, double* near) {
    const int n = in.n_knots;
    const double turn = 3.14159265358979323846 / in.period, reach = in.period / (3.14159265358979323846 * in.length);
    for (int k = 0; k < n; ++k) {
        const double chord = sin(turn * (t - in.knots[k])) * reach;
        near[k] = -0.5 * chord * chord;
    }
    for (int k = n; k % L; ++k) near[k] = 0.0;
    for (int k = 0; k < n; k += L) store(near + k, exp_negative(load<VecD>(near + k)));
}

// A row of a point from the kernel at all knots.
void periodic_row(const PointsModel& in, int64_t band, int width, const double* near, double* row) {
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
}

// unit asinh(t / unit) of `count` times: sign(t) log(|x| + sqrt(x^2 + 1)).
void compress(double unit, int64_t count, double* at) {
    const VecD one = broadcast<VecD>(1.0), zero = broadcast<VecD>(0.0), scale = broadcast<VecD>(unit);
    for (int64_t k = count; k % L; ++k) at[k] = 0.0;
    for (int64_t k = 0; k < count; k += L) {
        const VecD x = load<VecD>(at + k) / scale;
        // Beyond 1e150 the square is none, and the logarithm says nothing new.
        const VecD far = broadcast<VecD>(1e150), either = larger(x, VecD(zero - x)), size = select(greater(either, far), far, either);
        VecD root = fma(size, size, one), exponent = zero;
        for (int i = 0; i < L; ++i) root[i] = sqrt(root[i]);
        const VecD mantissa = take_exponent<double>(VecD(size + root), exponent);
        const VecD found = fma(exponent, broadcast<VecD>(0.6931471805599453094), log_mantissa(mantissa)) * scale;
        store(at + k, select(greater(zero, x), VecD(zero - found), found));
    }
}

// The rows of `count` points of a group, at the times in `work.at`: local shapes, shapes and mean.
void make_rows(const PointsModel& in, int64_t count, int64_t band, int width, const Work& work) {
    const int n = in.n_knots;
    if (isfinite(in.period)) {
        for (int64_t k = 0; k < count; ++k) {
            near_knots(in, work.at[k], work.near);
            periodic_row(in, band, width, work.near, work.rows + k * width);
        }
    } else {
        const double rate = 2.23606797749978969641 / in.length;
        const double steps = n > 1 ? double(n - 1) / (in.knots[n - 1] - in.knots[0]) : 0.0;
        // Distances to the neighbouring knots and, in `at`, which interval it is.
        for (int64_t k = 0; k < count; ++k) {
            const double t = work.at[k];
            const double guess = (t - in.knots[0]) * steps + 1.0;
            int i = guess > 0.0 ? (guess < double(n) ? int(guess) : n) : 0;
            while (i < n && t >= in.knots[i]) ++i;
            while (i > 0 && t < in.knots[i - 1]) --i;
            const double x = i > 0 ? (t - in.knots[i - 1]) * rate : 1e6, y = i < n ? (in.knots[i] - t) * rate : 1e6;
            work.before[k] = x < 1e6 ? x : 1e6;
            work.after[k] = y < 1e6 ? y : 1e6;
            work.at[k] = double(i);
        }
        for (int64_t k = count; k % L; ++k) work.before[k] = work.after[k] = 0.0;
        const VecD none = broadcast<VecD>(0.0);
        for (int64_t k = 0; k < count; k += L) {
            store(work.exp_before + k, exp_negative(VecD(none - load<VecD>(work.before + k))));
            store(work.exp_after + k, exp_negative(VecD(none - load<VecD>(work.after + k))));
        }
        const double* constant = in.coefficients + band * (1 + n) * width;
        for (int64_t k = 0; k < count; ++k) {
            const double* own = in.intervals + (band * (n + 1) + int64_t(work.at[k])) * kIntervalRows * width;
            const double x = work.before[k], y = work.after[k], ex = work.exp_before[k], ey = work.exp_after[k];
            const VecD a = broadcast<VecD>(ex), b = broadcast<VecD>(ex * x), c2 = broadcast<VecD>(ex * x * x);
            const VecD d = broadcast<VecD>(ey), e = broadcast<VecD>(ey * y), f = broadcast<VecD>(ey * y * y);
            for (int c = 0; c < width; c += L) {
                VecD left = fma(a, load<VecD>(own + c), load<VecD>(constant + c));
                VecD right = VecD(d * load<VecD>(own + 3 * width + c));
                left = fma(b, load<VecD>(own + width + c), left);
                right = fma(e, load<VecD>(own + 4 * width + c), right);
                left = fma(c2, load<VecD>(own + 2 * width + c), left);
                right = fma(f, load<VecD>(own + 5 * width + c), right);
                store(work.rows + k * width + c, VecD(left + right));
            }
        }
    }
}

// The same with residuals in place of the mean.
void make_residual_rows(const PointsModel& in, int64_t start, int64_t count, int64_t band, int width, const Work& work) {
    const int last = in.j + in.r;
    make_rows(in, count, band, width, work);
    for (int64_t k = 0; k < count; ++k) work.rows[k * width + last] = in.values[start + k] - work.rows[k * width + last];
}

// The sum of squares of the j local shapes of a row, which are 0 afterwards.
double take_local(int j, double* row) {
    double total = 0.0;
    for (int c = 0; c < j; ++c) {
        total += row[c] * row[c];
        row[c] = 0.0;
    }
    return total;
}

// Add w x x' of the rows of a group, w = 1 / (variance + rough), from row `first` of the sum on; the logarithm of the product of all
// (variance + rough).
double add_group(const PointsModel& in, int64_t start, int64_t count, double rough, int size, int width, const Work& work, double* sum,
                 int first = 0) {
    double total = 0.0, variance[kChunk], weights[kChunk];
    for (int64_t k = 0; k < count; k += kChunk) {
        const int64_t some = count - k < kChunk ? count - k : kChunk;
        for (int64_t i = 0; i < some; ++i) {
            variance[i] = in.variance[start + k + i] + rough;
            weights[i] = 1.0 / variance[i];
        }
        total += sum_of_logs(variance, some);
        add_rows(work.rows + k * width, weights, some, size, width, sum, first);
    }
    return total;
}

void likelihood(const PointsModel& in, int64_t object, int64_t n, double* memory, double* precision, double* shift, double* offset) {
    const int r = in.r, j = in.j, size = j + r + 1, width = padded(in), packed = r * (r + 1) / 2;
    const Work work(in, memory);
    Attention attention;
    // Local shapes of a group are swept out of all that comes after them in its sum, so groups add up there as they are.
    const int64_t whole = int64_t(width) * width;
    zero(work.sum, in.n_widths * whole);
    for (int s = 0; s < in.n_widths; ++s) offset[s * n] = 0.0;
    for (int64_t g = in.group[object]; g < in.group[object + 1]; ++g) {
        const int64_t start = in.first[g], count = in.first[g + 1] - start, band = in.band[g];
        for (int64_t k = 0; k < count; ++k) work.at[k] = in.at[start + k];
        attention.spent(count * (isfinite(in.period) ? int64_t(in.n_knots) * (width + 20) : int64_t(8) * width + 60));
        make_residual_rows(in, start, count, band, width, work);
        // Local shapes at a single point are a variance of it, and there is nothing to sweep.
        const double local = count == 1 ? take_local(j, work.rows) : 0.0;
        for (int s = 0; s < in.n_widths; ++s) {
            const double wide = in.widths[s];
            double* sum = work.sum + s * whole;
            if (count == 1) {
                attention.spent(size * width);
                offset[s * n] += kLog2Pi + add_group(in, start, 1, wide * (in.psi[band] + local), size, width, work, sum, j);
                continue;
            }
            zero(sum, int64_t(j) * width);
            attention.spent(count * size * width);
            offset[s * n] += double(count) * kLog2Pi + add_group(in, start, count, wide * in.psi[band], size, width, work, sum);
            offset[s * n] += sweep(sum, 0, j, size, width, wide);
        }
    }
    for (int s = 0; s < in.n_widths; ++s) {
        const double* sum = work.sum + s * whole;
        double* entry = precision + s * n * packed;
        for (int a = 0; a < r; ++a) {
            const double* row = sum + (j + a) * width + j;
            for (int c = a; c < r; ++c, ++entry) *entry = row[c];
            shift[s * n * r + a] = row[r];
        }
        offset[s * n] += sum[(j + r) * width + j + r];
    }
}

// Shapes that are common to all points of an object, drawn from N(0, I), are swept out as local shapes of a group are.
// Every second shift first; those between two that are kHopeless less likely than the best are as likely as the better of the two.
void shifted(const PointsModel& in, int64_t object, const double* shifts, int n_shifts, double* memory, double* out) {
    const int r = in.r, size = r + 1, width = padded(in);
    const Work work(in, memory);
    Attention attention;
    double best = -INFINITY;
    for (int turn = 0; turn < n_shifts; ++turn) {
        const int even = (n_shifts + 1) / 2, s = turn < even ? 2 * turn : 2 * (turn - even) + 1;
        if (turn >= even) {
            const double before = out[s - 1], after = s + 1 < n_shifts ? out[s + 1] : before, nearer = before > after ? before : after;
            if (nearer < best - kHopeless) {
                out[s] = nearer;
                continue;
            }
        }
        double total = 0.0;
        zero(work.sum, int64_t(width) * width);
        for (int64_t g = in.group[object]; g < in.group[object + 1]; ++g) {
            const int64_t start = in.first[g], count = in.first[g + 1] - start, band = in.band[g];
            for (int64_t k = 0; k < count; ++k) work.at[k] = in.at[start + k] - shifts[s];
            attention.spent(count * (isfinite(in.period) ? int64_t(in.n_knots) * (width + 20) : int64_t(8 + size) * width + 90));
            if (in.unit > 0.0) compress(in.unit, count, work.at);
            make_residual_rows(in, start, count, band, width, work);
            total += double(count) * kLog2Pi + add_group(in, start, count, in.psi[band], size, width, work, work.sum);
        }
        total += sweep(work.sum, 0, r, size, width, 1.0);
        out[s] = -0.5 * (total + work.sum[r * width + r]);
        if (turn < even && out[s] > best) best = out[s];
    }
}

// Curves at points of one band, in the order in which the coefficients came: mean, shapes, local shapes.
void rows_of(const PointsModel& in, int64_t start, int64_t count, int64_t band, double* memory, double* out) {
    const int r = in.r, j = in.j, width = padded(in), columns = 1 + r + j;
    const Work work(in, memory);
    Attention attention;
    for (int64_t done = 0; done < count; done += in.longest) {
        const int64_t some = count - done < in.longest ? count - done : in.longest;
        for (int64_t k = 0; k < some; ++k) work.at[k] = in.at[start + done + k];
        attention.spent(some * (isfinite(in.period) ? int64_t(in.n_knots) * (width + 20) : int64_t(8) * width + 60));
        make_rows(in, some, band, width, work);
        for (int64_t k = 0; k < some; ++k) {
            const double* row = work.rows + k * width;
            double* to = out + (done + k) * columns;
            to[0] = row[j + r];
            for (int a = 0; a < r; ++a) to[1 + a] = row[j + a];
            for (int a = 0; a < j; ++a) to[1 + r + a] = row[a];
        }
    }
}

const PointsKernels kernels = {kWhole, work_size, likelihood, shifted, rows_of};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const PointsKernels* BADAC_NAME(points_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
