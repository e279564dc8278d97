// What objects with points of their own say of their latent positions. Twin: badac/_kernels/points.py.
#include "points.hpp"

#include <nanobind/stl/pair.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "points_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<PointsKernels> kLevels = BADAC_LEVELS(points_kernels);
// Block sizes: rows that stay in the cache, and a few milliseconds of them.
constexpr int64_t kRowsTogether = 64, kRowsPerBlock = 4096;

using Bands = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Whether the numbers rise from 0 to `last`, so that no object reads beyond the points.
bool is_rising(const Indices& numbers, int64_t last) {
    const int64_t size = int64_t(numbers.shape(0));
    if (size < 1 || numbers.data()[0] != 0 || numbers.data()[size - 1] != last) return false;
    for (int64_t i = 1; i < size; ++i)
        if (numbers.data()[i] < numbers.data()[i - 1]) return false;
    return true;
}

// Curves as they came, made sure of.
struct GivenCurves {
    const Vector& knots;
    const Cube& coefficients;
    double length, period;

    int64_t bands() const { return int64_t(coefficients.shape(0)); }
    int64_t n_knots() const { return int64_t(knots.shape(0)); }
    int64_t columns() const { return int64_t(coefficients.shape(2)); }

    void check(int64_t r, int64_t j) const {
        require(r >= 0 && r <= kPointsMaxRank && j >= 0 && j <= kPointsMaxLocal, "coefficients do not fit rank");
        require(n_knots() >= 1 && n_knots() <= kPointsMaxKnots, "too many knots or widths");
        require(int64_t(coefficients.shape(1)) == n_knots() + 1, "coefficients do not fit knots");
    }
};

// Points of objects and curves.
struct Given : GivenCurves {
    const Vector &values, &variance, &at;
    const Indices &first, &group, &band;
    const Vector& psi;

    int64_t points() const { return int64_t(values.shape(0)); }
    int64_t objects() const { return int64_t(group.shape(0)) - 1; }
    int64_t groups() const { return int64_t(band.shape(0)); }

    int64_t checked_longest(int64_t r, int64_t j) const {
        require(int64_t(variance.shape(0)) == points() && int64_t(at.shape(0)) == points(), "variance and at do not fit values");
        require(is_rising(first, points()) && int64_t(first.shape(0)) == groups() + 1, "first does not fit values");
        require(is_rising(group, groups()), "group does not fit first");
        require(r >= 1, "coefficients do not fit rank");
        check(r, j);
        require(int64_t(psi.shape(0)) == bands(), "coefficients do not fit psi");
        int64_t longest = 0;
        for (int64_t g = 0; g < groups(); ++g) {
            require(band.data()[g] >= 0 && band.data()[g] < bands(), "band does not fit psi");
            longest = std::max(longest, first.data()[g + 1] - first.data()[g]);
        }
        return longest;
    }
};

// Curves in the order of the kernels: knots rising; columns local shapes, shapes, mean, then zeros; and the six rows of each interval.
struct Ordered {
    std::vector<double> knots;
    AlignedVector<double> coefficients, intervals;

    Ordered(const GivenCurves& given, int64_t r, int64_t j, int64_t width) : knots(size_t(given.n_knots())) {
        const int64_t n = given.n_knots(), columns = given.columns(), bands = given.bands();
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), int64_t(0));
        const double* at = given.knots.data();
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at[a] < at[b]; });
        for (int64_t k = 0; k < n; ++k) knots[size_t(k)] = at[order[size_t(k)]];
        coefficients = AlignedVector<double>(size_t(bands * (n + 1) * width), 0.0);
        for (int64_t band = 0; band < bands; ++band)
            for (int64_t row = 0; row <= n; ++row) {
                const double* from = given.coefficients.data() + (band * (n + 1) + (row ? 1 + order[size_t(row - 1)] : 0)) * columns;
                double* to = coefficients.data() + (band * (n + 1) + row) * width;
                for (int64_t a = 0; a < j; ++a) to[a] = from[1 + r + a];
                for (int64_t a = 0; a < r; ++a) to[j + a] = from[1 + a];
                to[j + r] = from[0];
            }
        if (std::isfinite(given.period)) return;
        const int64_t size = kIntervalRows * width;
        intervals = AlignedVector<double>(size_t(bands * (n + 1) * size), 0.0);
        const double rate = std::sqrt(5.0) / given.length;
        for (int64_t band = 0; band < bands; ++band) {
            const double* own = coefficients.data() + (band * (n + 1) + 1) * width;
            double* found = intervals.data() + band * (n + 1) * size;
            // Before interval i lie the knots up to i - 1, after it those from i on.
            for (int64_t i = 1; i <= n; ++i) {
                const double* from = i > 1 ? found + (i - 1) * size : nullptr;
                accumulate(found + i * size, from, i > 1 ? (knots[size_t(i - 1)] - knots[size_t(i - 2)]) * rate : 0.0, own + (i - 1) * width, width);
            }
            for (int64_t i = n - 1; i >= 0; --i) {
                const double* from = i < n - 1 ? found + (i + 1) * size + 3 * width : nullptr;
                accumulate(found + i * size + 3 * width, from, i < n - 1 ? (knots[size_t(i + 1)] - knots[size_t(i)]) * rate : 0.0, own + i * width,
                           width);
            }
        }
    }

    // Three rows seen from the next knot, `step` farther, with the coefficients of that knot added:
    // (1 + a + a^2 / 3) exp(-a) with a = x + step is again a polynomial in x times exp(-x).
    static void accumulate(double* to, const double* from, double step, const double* own, int64_t width) {
        const double left = std::exp(-step);
        for (int64_t c = 0; c < width; ++c) {
            const double a = from ? from[c] : 0.0, b = from ? from[width + c] : 0.0, q = from ? from[2 * width + c] : 0.0;
            to[c] = left * (a + step * (b + step * q)) + own[c];
            to[width + c] = left * (b + 2.0 * step * q) + own[c];
            to[2 * width + c] = left * q + own[c] / 3.0;
        }
    }
};

PointsModel model_of(const Given& given, const Ordered& ordered, int64_t r, int64_t j, int64_t longest, const Vector* widths, double unit) {
    PointsModel in{};
    in.r = int(r), in.j = int(j), in.n_knots = int(given.n_knots()), in.n_widths = widths ? int(widths->shape(0)) : 1;
    in.length = given.length, in.period = given.period, in.unit = unit;
    in.values = given.values.data(), in.variance = given.variance.data(), in.at = given.at.data();
    in.first = given.first.data(), in.group = given.group.data(), in.band = given.band.data();
    in.knots = ordered.knots.data(), in.coefficients = ordered.coefficients.data(), in.intervals = ordered.intervals.data();
    in.psi = given.psi.data(), in.widths = widths ? widths->data() : nullptr, in.longest = longest;
    return in;
}

}  // namespace

void bind_points(nb::module_& m) {
    m.attr("points_max_rank") = kPointsMaxRank;
    m.attr("points_max_local") = kPointsMaxLocal;
    m.attr("points_max_knots") = kPointsMaxKnots;
    m.def(
        "points_likelihood",
        [](Output precision, Output shift, Output offset, const Vector& values, const Vector& variance, const Vector& at,
           const Indices& first, const Indices& group, const Indices& band, const Vector& knots, const Cube& coefficients,
           const Vector& psi, const Vector& widths, int rank, double length, double period, int n_threads, const std::string& level) {
            const PointsKernels& kernels = choose(kLevels, level);
            const Given given{{knots, coefficients, length, period}, values, variance, at, first, group, band, psi};
            const int64_t n = given.objects(), r = rank, j = given.columns() - 1 - r, p = r * (r + 1) / 2, s = int64_t(widths.shape(0));
            const int64_t longest = given.checked_longest(r, j);
            require(s < (int64_t(1) << 31), "too many knots or widths");
            require(int64_t(precision.size()) == s * n * p && int64_t(shift.size()) == s * n * r && int64_t(offset.size()) == s * n,
                    "the results do not fit group");
            const int64_t width = (given.columns() + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
            const Ordered ordered(given, r, j, width);
            const PointsModel in = model_of(given, ordered, r, j, longest, &widths, 0.0);
            const double each = double(given.points()) / double(std::max<int64_t>(n, 1));
            const double cost = each * double(width) * (8.0 + 0.5 * double(s * width));
            over_each_object(n, cost, n_threads, kernels.work(in), [&](int64_t i, double* work) {
                kernels.likelihood(in, i, n, work, precision.data() + i * p, shift.data() + i * r, offset.data() + i);
            });
        },
        written("precision"), written("shift"), written("offset"), "values"_a, "variance"_a, "at"_a, "first"_a, "group"_a, "band"_a, "knots"_a,
        "coefficients"_a, "psi"_a, "widths"_a, "rank"_a, "length"_a, "period"_a, "n_threads"_a, "level"_a);
    m.def(
        "shifted_evidence",
        [](Output out, const Vector& values, const Vector& variance, const Vector& at, const Indices& first, const Indices& group,
           const Indices& band, const Vector& knots, const Cube& coefficients, const Vector& psi, const Vector& shifts, double length,
           double period, double unit, int n_threads, const std::string& level) {
            const PointsKernels& kernels = choose(kLevels, level);
            const Given given{{knots, coefficients, length, period}, values, variance, at, first, group, band, psi};
            const int64_t n = given.objects(), r = given.columns() - 1, s = int64_t(shifts.shape(0));
            const int64_t longest = given.checked_longest(r, 0);
            require(s < (int64_t(1) << 31), "too many shifts");
            require(unit >= 0.0, "unit must not be negative");
            require(int64_t(out.size()) == n * s, "the result does not fit group and shifts");
            const int64_t width = (given.columns() + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
            const Ordered ordered(given, r, 0, width);
            const PointsModel in = model_of(given, ordered, r, 0, longest, nullptr, unit);
            const double each = double(given.points()) / double(std::max<int64_t>(n, 1));
            const double cost = each * double(s) * double(width) * (12.0 + 0.5 * double(width));
            over_each_object(n, cost, n_threads, kernels.work(in), [&](int64_t i, double* work) {
                kernels.shifted(in, i, shifts.data(), int(s), work, out.data() + i * s);
            });
        },
        written("out"), "values"_a, "variance"_a, "at"_a, "first"_a, "group"_a, "band"_a, "knots"_a, "coefficients"_a, "psi"_a, "shifts"_a,
        "length"_a, "period"_a, "unit"_a, "n_threads"_a, "level"_a);
    m.def(
        "grouped_points",
        [](Output values, Output variance, Output at, Counts first, Counts group, Counts band, const Matrix& all_values, const Matrix& sigma,
           const Matrix& all_at, const Bands& all_band, int n_bands, int n_threads) {
            const int64_t n = int64_t(all_values.shape(0)), m = int64_t(all_values.shape(1)), bands = n_bands;
            const auto is_of = [&](size_t rows, size_t columns) { return int64_t(rows) == n && int64_t(columns) == m; };
            require(bands >= 1, "n_bands must be at least 1");
            require(is_of(sigma.shape(0), sigma.shape(1)) && is_of(all_at.shape(0), all_at.shape(1)), "sigma and at do not fit values");
            const bool banded = all_band.size() > 0 && bands > 1;
            require(!banded || is_of(all_band.shape(0), all_band.shape(1)), "band does not fit values");
            require(int64_t(values.size()) == n * m && int64_t(variance.size()) == n * m && int64_t(at.size()) == n * m,
                    "the results do not fit values");
            const int64_t groups = std::min(n * m, n * bands);
            require(int64_t(group.size()) == n + 1 && int64_t(first.size()) == groups + 1 && int64_t(band.size()) == groups,
                    "the results do not fit values");
            // Points and groups of each object are counted, summed up, and written where they belong.
            std::vector<int64_t> points(static_cast<size_t>(n) + 1), found(static_cast<size_t>(n) + 1);
            const auto counted = [&](int64_t i, int64_t* count) {
                const double* y = all_values.data() + i * m;
                const int64_t* b = banded ? all_band.data() + i * m : nullptr;
                for (int64_t one = 0; one < bands; ++one) count[one] = 0;
                for (int64_t k = 0; k < m; ++k) {
                    if (std::isnan(y[k])) continue;
                    const int64_t own = b ? b[k] : 0;
                    require(own >= 0 && own < bands, "band does not fit n_bands");
                    ++count[own];
                }
            };
            const auto over_each = [&](const auto& work) {
                over_objects(n, objects_per_block(8.0 * double(m + bands), 1), n_threads, [&] {
                    return [&, count = std::vector<int64_t>(static_cast<size_t>(bands))](int64_t start, int64_t stop) mutable {
                        for (int64_t i = start; i < stop; ++i) {
                            counted(i, count.data());
                            work(i, count.data());
                        }
                    };
                });
            };
            over_each([&](int64_t i, const int64_t* count) {
                for (int64_t one = 0; one < bands; ++one) {
                    points[size_t(i) + 1] += count[one];
                    found[size_t(i) + 1] += count[one] > 0;
                }
            });
            for (size_t i = 0; i < size_t(n); ++i) points[i + 1] += points[i], found[i + 1] += found[i];
            over_each([&](int64_t i, int64_t* count) {
                const double *y = all_values.data() + i * m, *s = sigma.data() + i * m, *t = all_at.data() + i * m;
                const int64_t* b = banded ? all_band.data() + i * m : nullptr;
                int64_t start = points[size_t(i)], number = found[size_t(i)];
                group.data()[i] = number;
                for (int64_t one = 0; one < bands; ++one) {
                    const int64_t own = count[one];
                    if (own > 0) first.data()[number] = start, band.data()[number++] = one;
                    count[one] = start;
                    start += own;
                }
                for (int64_t k = 0; k < m; ++k) {
                    if (std::isnan(y[k])) continue;
                    const int64_t to = count[b ? b[k] : 0]++;
                    values.data()[to] = y[k], variance.data()[to] = s[k] * s[k], at.data()[to] = t[k];
                }
            });
            group.data()[n] = found.back();
            first.data()[found.back()] = points.back();
            return std::make_pair(points.back(), found.back());
        },
        written("values"), written("variance"), written("at"), written("first"), written("group"), written("band"), "all_values"_a, "sigma"_a,
        "all_at"_a, "all_band"_a, "n_bands"_a, "n_threads"_a);
    m.def(
        "curve_rows",
        [](Output out, const Vector& at, const Indices& band, const Vector& knots, const Cube& coefficients, int rank, double length, double period,
           int n_threads, const std::string& level) {
            const PointsKernels& kernels = choose(kLevels, level);
            const GivenCurves given{knots, coefficients, length, period};
            const int64_t n = int64_t(at.shape(0)), r = rank, columns = given.columns(), j = columns - 1 - r;
            given.check(r, j);
            require(int64_t(band.shape(0)) == n, "band does not fit at");
            require(int64_t(out.size()) == n * columns, "the result does not fit at");
            const int64_t* bands = band.data();
            for (int64_t i = 0; i < n; ++i) require(bands[i] >= 0 && bands[i] < given.bands(), "band does not fit coefficients");
            const int64_t width = (columns + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
            const Ordered ordered(given, r, j, width);
            PointsModel in{};
            in.r = int(r), in.j = int(j), in.n_knots = int(given.n_knots()), in.length = length, in.period = period;
            in.at = at.data(), in.knots = ordered.knots.data(), in.coefficients = ordered.coefficients.data();
            in.intervals = ordered.intervals.data(), in.longest = kRowsTogether;
            over_objects(n, kRowsPerBlock, n_threads, [&] {
                return [&, work = AlignedVector<double>(size_t(kernels.work(in)))](int64_t start, int64_t stop) mutable {
                    // Points of one band that follow each other.
                    for (int64_t last = start; start < stop; start = last) {
                        while (last < stop && bands[last] == bands[start]) ++last;
                        kernels.rows(in, start, last - start, bands[start], work.data(), out.data() + start * columns);
                    }
                };
            });
        },
        written("out"), "at"_a, "band"_a, "knots"_a, "coefficients"_a, "rank"_a, "length"_a, "period"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
