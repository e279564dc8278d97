// The spread of true values, some points at a time. Twin: badac/_kernels/spread.py.
#include "spread.hpp"

#include <string>

#include "dispatch.hpp"
#include "door.hpp"
#include "spread_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<SpreadKernels> kLevels = BADAC_LEVELS(spread_kernels);

}  // namespace

void bind_spread(nb::module_& m) {
    m.def(
        "population_variance",
        [](Output out, const Matrix& values, const Matrix& variance, const Vector& least, int steps, int n_threads, const std::string& level) {
            const SpreadKernels& kernels = choose(kLevels, level);
            const SpreadArrays in{int64_t(values.shape(0)), int64_t(values.shape(1)), values.data(), variance.data(), least.data(), steps, out.data()};
            require(int64_t(variance.shape(0)) == in.n && int64_t(variance.shape(1)) == in.m, "variance does not fit values");
            require(int64_t(least.size()) == in.m && int64_t(out.size()) == in.m, "least or out does not fit values");
            require(steps >= 0 && steps <= 1000, "there are 0 to 1000 steps");
            over_objects((in.m + kernels.lanes - 1) / kernels.lanes, 1, n_threads, [&] {
                return [&, scratch = UnsetVector<double>(size_t(in.n * kernels.lanes))](int64_t first, int64_t last) mutable {
                    for (int64_t group = first; group < last; ++group) kernels.variance(in, group * kernels.lanes, scratch.data());
                };
            });
        },
        written("out"), "values"_a, "variance"_a, "least"_a, "steps"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
