// First and second moments of weighed objects, stretch by stretch. Twin: badac/_kernels/moments.py.
#include "moments.hpp"

#include <algorithm>
#include <string>

#include "add_up.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "moments_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<MomentKernels> kLevels = BADAC_LEVELS(moment_kernels);

}  // namespace

void bind_moments(nb::module_& m) {
    m.def(
        "weighted_moments",
        [](Output total, Output mean, Output noise, Output covariance, Output together, const Matrix& values, const Matrix& sigma,
           const Vector& spread, int n_threads, const std::string& level) {
            MomentArrays in{};
            in.n = int64_t(values.shape(0)), in.m = int64_t(values.shape(1));
            in.points = (in.m + kMomentsWhole - 1) / kMomentsWhole * kMomentsWhole;
            require(int64_t(sigma.shape(0)) == in.n && int64_t(sigma.shape(1)) == in.m, "sigma does not fit values");
            require(int64_t(spread.size()) == in.m, "spread does not fit values");
            require(int64_t(total.size()) == in.m && int64_t(mean.size()) == in.m && int64_t(noise.size()) == in.m &&
                        int64_t(covariance.size()) == in.m * in.m && int64_t(together.size()) == in.m * in.m,
                    "the outputs do not fit values");
            const MomentKernels& kernels = choose(kLevels, level);
            require_threads(n_threads);
            without_gil([&] {
                AlignedVector<double> padded(size_t(in.points), 1.0), centre(size_t(in.points), 0.0);
                std::copy_n(spread.data(), in.m, padded.data());
                in.values = values.data(), in.sigma = sigma.data(), in.spread = padded.data(), in.mean = centre.data();
                AlignedVector<double> sums(size_t(4 * in.points));
                add_up(in.n, 0, 4 * in.points, n_threads, sums.data(),
                       [&](int64_t first, int64_t last, double*, double* own) { kernels.sums(in, first, last, own); });
                for (int64_t j = 0; j < in.m; ++j) {
                    total.data()[j] = sums[size_t(j)], noise.data()[j] = sums[size_t(2 * in.points + j)];
                    mean.data()[j] = centre[size_t(j)] = sums[size_t(in.points + j)] / std::max(sums[size_t(j)], 1e-300);
                }
                const int64_t square = in.points * in.points;
                AlignedVector<double> found(size_t(2 * square));
                add_up(in.n, kernels.scratch(in), 2 * square, n_threads, found.data(),
                       [&](int64_t first, int64_t last, double* scratch, double* own) { kernels.products(in, first, last, scratch, own); });
                for (int64_t j = 0; j < in.m; ++j)
                    for (int64_t k = j; k < in.m; ++k) {
                        covariance.data()[j * in.m + k] = covariance.data()[k * in.m + j] = found[size_t(j * in.points + k)];
                        together.data()[j * in.m + k] = together.data()[k * in.m + j] = found[size_t(square + j * in.points + k)];
                    }
                // A point with itself to the last digit: its own variance is what is left of this.
                for (int64_t j = 0; j < in.m; ++j) together.data()[j * in.m + j] = sums[size_t(3 * in.points + j)];
            });
        },
        written("total"), written("mean"), written("noise"), written("covariance"), written("together"), "values"_a, "sigma"_a, "spread"_a,
        "n_threads"_a, "level"_a);
}

}  // namespace badac
