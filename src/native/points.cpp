// What objects with points of their own say of their latent positions. Twin: badac/_kernels/points.py.
#include "points.hpp"

#include <string>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "points_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<PointsKernels> kLevels = BADAC_LEVELS(points_kernels);

// Whether the numbers rise from 0 to `last`, so that no object reads beyond the points.
bool is_rising(const Indices& numbers, int64_t last) {
    const int64_t size = int64_t(numbers.shape(0));
    if (size < 1 || numbers.data()[0] != 0 || numbers.data()[size - 1] != last) return false;
    for (int64_t i = 1; i < size; ++i)
        if (numbers.data()[i] < numbers.data()[i - 1]) return false;
    return true;
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
            const int64_t points = int64_t(values.shape(0)), n = int64_t(group.shape(0)) - 1, groups = int64_t(band.shape(0));
            const int64_t bands = int64_t(psi.shape(0)), n_knots = int64_t(knots.shape(0)), columns = int64_t(coefficients.shape(2));
            const int64_t r = rank, j = columns - 1 - r, p = r * (r + 1) / 2, s = int64_t(widths.shape(0));
            require(int64_t(variance.shape(0)) == points && int64_t(at.shape(0)) == points, "variance and at do not fit values");
            require(is_rising(first, points) && int64_t(first.shape(0)) == groups + 1, "first does not fit values");
            require(is_rising(group, groups), "group does not fit first");
            require(r >= 1 && r <= kPointsMaxRank && j >= 0 && j <= kPointsMaxLocal, "coefficients do not fit rank");
            require(n_knots >= 1 && n_knots <= kPointsMaxKnots && s < (int64_t(1) << 31), "too many knots or widths");
            require(int64_t(coefficients.shape(0)) == bands && int64_t(coefficients.shape(1)) == n_knots + 1,
                    "coefficients do not fit knots");
            require(int64_t(precision.size()) == s * n * p && int64_t(shift.size()) == s * n * r && int64_t(offset.size()) == s * n,
                    "the results do not fit group");
            int64_t longest = 0;
            for (int64_t g = 0; g < groups; ++g) {
                require(band.data()[g] >= 0 && band.data()[g] < bands, "band does not fit psi");
                longest = std::max(longest, first.data()[g + 1] - first.data()[g]);
            }
            // Columns in the order of a row: local shapes, shapes, mean; then zeros.
            const int64_t padded = (columns + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
            AlignedVector<double> ordered(size_t(bands * (n_knots + 1) * padded), 0.0);
            for (int64_t row = 0; row < bands * (n_knots + 1); ++row) {
                const double* from = coefficients.data() + row * columns;
                double* to = ordered.data() + row * padded;
                for (int64_t a = 0; a < j; ++a) to[a] = from[1 + r + a];
                for (int64_t a = 0; a < r; ++a) to[j + a] = from[1 + a];
                to[j + r] = from[0];
            }
            const PointsModel in{int(r),         int(j),       int(n_knots), int(s),       length,         period,
                                 values.data(),  variance.data(), at.data(), first.data(), group.data(),   band.data(),
                                 knots.data(),   ordered.data(), psi.data(), widths.data(), longest};
            const double each = double(points) / double(std::max<int64_t>(n, 1));
            const double cost = each * double(padded) * (double(n_knots) + 0.5 * double(s * padded));
            over_objects(n, objects_per_block(cost, 1), n_threads, [&] {
                return [&, work = AlignedVector<double>(size_t(kernels.work(in)))](int64_t start, int64_t stop) mutable {
                    for (int64_t i = start; i < stop; ++i)
                        kernels.likelihood(in, i, n, work.data(), precision.data() + i * p, shift.data() + i * r, offset.data() + i);
                };
            });
        },
        written("precision"), written("shift"), written("offset"), "values"_a, "variance"_a, "at"_a, "first"_a, "group"_a, "band"_a, "knots"_a,
        "coefficients"_a, "psi"_a, "widths"_a, "rank"_a, "length"_a, "period"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
