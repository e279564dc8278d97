// Rows of log terms, one after the other. Twin: badac/_kernels/rows.py.
#include "rows.hpp"

#include <string>

#include "dispatch.hpp"
#include "door.hpp"
#include "rows_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<RowsKernels> kLevels = BADAC_LEVELS(rows_kernels);

}  // namespace

void bind_rows(nb::module_& m) {
    m.def(
        "row_log_sums",
        [](Output out, const Matrix& terms, int n_threads, const std::string& level) {
            const RowsKernels& kernels = choose(kLevels, level);
            const int64_t n = int64_t(terms.shape(0)), k = int64_t(terms.shape(1));
            require(out.size() == size_t(n), "out does not fit terms");
            over_objects(n, objects_per_block(20.0 * double(k)), n_threads, [&] {
                return [&](int64_t first, int64_t last) { kernels.log_sums(terms.data(), k, first, last, out.data()); };
            });
        },
        written("out"), "terms"_a, "n_threads"_a, "level"_a);
    m.def(
        "stacked_losses",
        [](Output loss, Output slope, Output by_output, const Cube& outputs, const Matrix& weights, const Vector& bias, const Indices& label,
           int n_threads, const std::string& level) {
            const RowsKernels& kernels = choose(kLevels, level);
            const int64_t n = int64_t(outputs.shape(0)), o = int64_t(outputs.shape(1)), k = int64_t(outputs.shape(2));
            require(int64_t(weights.shape(0)) == n && int64_t(weights.shape(1)) == o, "weights do not fit outputs");
            require(int64_t(bias.shape(0)) == k && int64_t(label.shape(0)) == n, "bias or label do not fit outputs");
            require(loss.size() == size_t(n) && slope.size() == size_t(n * k) && by_output.size() == size_t(n * o),
                    "the results do not fit outputs");
            for (int64_t i = 0; i < n; ++i) require(label.data()[i] >= 0 && label.data()[i] < k, "label names no class");
            const int64_t padded = (k + kernels.group - 1) / kernels.group * kernels.group;
            over_each_object(n, double(k) * (20.0 + 2.0 * double(o)), n_threads, padded, [&](int64_t i, double* work) {
                loss.data()[i] = kernels.loss(outputs.data() + i * o * k, weights.data() + i * o, bias.data(), label.data()[i], o, k, work,
                                              slope.data() + i * k, by_output.data() + i * o);
            });
        },
        written("loss"), written("slope"), written("by_output"), "outputs"_a, "weights"_a, "bias"_a, "label"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
