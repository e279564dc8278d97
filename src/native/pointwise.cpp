// Points on their own: the walk over objects. Twin: badac/_kernels/pointwise.py.
#include "pointwise.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "pointwise_kernel.hpp"

namespace badac {
namespace {

// Largest variance, and ratio of variances at a point, of which roots are multiplied without a second thought.
constexpr double kMost = 1e200, kAlike = 1e60;
constexpr Levels<PointwiseKernels> kLevels = BADAC_LEVELS(pointwise_kernels);

// Rows of g rounded up to `padded`, filled with `filling`, or with their own first element if that is not a number.
AlignedVector<double> widened(const Matrix& from, int64_t padded, double filling) {
    const int64_t m = int64_t(from.shape(0)), g = int64_t(from.shape(1));
    AlignedVector<double> out(size_t(m * padded), filling);
    if (filling != filling)
        for (int64_t j = 0; j < m; ++j) std::fill(out.data() + j * padded, out.data() + (j + 1) * padded, from.data()[j * g]);
    for (int64_t j = 0; j < m; ++j) std::copy(from.data() + j * g, from.data() + (j + 1) * g, out.data() + j * padded);
    return out;
}

}  // namespace

void bind_pointwise(nb::module_& m) {
    m.def(
        "pointwise_logsumexp",
        [](Output out, const Matrix& values, const Matrix& variance, const Matrix& y, const Matrix& u, const Matrix& log_weights,
           int n_threads, const std::string& level) {
            const PointwiseKernels& kernels = choose(kLevels, level);
            const int64_t n = int64_t(values.shape(0)), points = int64_t(values.shape(1)), g = int64_t(y.shape(1));
            require(out.size() == size_t(n), "out does not fit values");
            require(variance.shape(0) == values.shape(0) && variance.shape(1) == values.shape(1), "variance does not fit values");
            require(int64_t(y.shape(0)) == points && g >= 1, "the mixtures do not fit values");
            require(u.shape(0) == y.shape(0) && u.shape(1) == y.shape(1) && log_weights.shape(0) == y.shape(0) &&
                        log_weights.shape(1) == y.shape(1),
                    "the mixtures do not fit each other");
            const int64_t padded = (g + kernels.group - 1) / kernels.group * kernels.group;
            const auto wide_y = widened(y, padded, 0.0), wide_u = widened(u, padded, std::numeric_limits<double>::quiet_NaN()),
                       wide_w = widened(log_weights, padded, -1e300);
            std::vector<double> smallest;
            std::vector<char> plain;
            for (int64_t j = 0; j < points; ++j) {
                const auto [least, most] = std::minmax_element(u.data() + j * g, u.data() + (j + 1) * g);
                const double heaviest = *std::max_element(log_weights.data() + j * g, log_weights.data() + (j + 1) * g);
                smallest.push_back(*least);
                plain.push_back(*least > 0.0 && *most < kMost && *most <= kAlike * *least && heaviest <= 0.0);
            }
            const PointMixtures in{points, padded, wide_y.data(), wide_u.data(), wide_w.data(), smallest.data(), plain.data()};
            over_each_object(n, 20.0 * double(points * padded), n_threads, padded, [&](int64_t i, double* work) {
                out.data()[i] = kernels.log_evidence(in, values.data() + i * points, variance.data() + i * points, work);
            });
        },
        written("out"), "values"_a, "variance"_a, "y"_a, "u"_a, "log_weights"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
