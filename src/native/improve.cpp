// The M-step of a deconvolved mixture with the scoring step for its covariances. Twin: latent_improved in badac/_kernels/latent.py.
//
// A few small matrices a component, and the step is taken thousands of times with a few hundred members: what it takes elsewhere
// is the calls, not the arithmetic.
#include "improve.hpp"

#include <atomic>
#include <cmath>
#include <string>

#include "dispatch.hpp"
#include "door.hpp"
#include "improve_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<ImproveKernels> kLevels = BADAC_LEVELS(improve_kernels);

// Run work(first, last) on blocks of components; false if it was false on one of them.
template <class Work>
bool on_all(const ImproveArrays& in, int lanes, int n_threads, const Work& work) {
    std::atomic<bool> good{true};
    const double cost = 40.0 * double(in.r) * in.r * in.r;
    over_objects(in.k, objects_per_block(cost, lanes), n_threads, [&] {
        return [&](int64_t first, int64_t last) {
            if (!work(first, last)) good = false;
        };
    });
    return good;
}

}  // namespace

void bind_improve(nb::module_& m) {
    m.attr("improve_max_rank") = kImproveMost;
    m.def(
        "latent_improved",
        [](Output weights, Output means, Output covariances, Output precision, Output shift, Output log_constant, const Matrix& old_means,
           const Cube& old_covariances, const Matrix& sums, double pooling, double least_information, double largest_change, double floor,
           int n_threads, const std::string& level) {
            const int64_t k = int64_t(old_means.shape(0));
            const int r = small(old_means.shape(1), "too many dimensions");
            require(r >= 1 && r <= kImproveMost, "the step works in 1 to 16 dimensions");
            const int64_t p = r * (r + 1) / 2, square = int64_t(r) * r, width = 1 + r + 2 * p;
            require(k >= 1, "there must be a component");
            require(int64_t(old_covariances.shape(0)) == k && int64_t(old_covariances.shape(1)) == r && int64_t(old_covariances.shape(2)) == r,
                    "the covariances do not fit the means");
            require(int64_t(sums.shape(0)) == k && int64_t(sums.shape(1)) == width, "the sums do not fit the means");
            require(int64_t(weights.size()) == k && int64_t(means.size()) == k * r && int64_t(covariances.size()) == k * square &&
                        int64_t(precision.size()) == k * p && int64_t(shift.size()) == k * r && int64_t(log_constant.size()) == k,
                    "the results do not fit the means");
            const ImproveKernels& kernels = choose(kLevels, level);
            const ImproveArrays in{k,
                                   r,
                                   old_means.data(),
                                   old_covariances.data(),
                                   sums.data(),
                                   pooling,
                                   least_information,
                                   largest_change,
                                   floor,
                                   weights.data(),
                                   means.data(),
                                   covariances.data(),
                                   precision.data(),
                                   shift.data(),
                                   log_constant.data()};
            if (!on_all(in, kernels.lanes, n_threads, [&](int64_t first, int64_t last) { return kernels.step(in, first, last); })) return false;
            double pooled[kImproveMost * kImproveMost] = {}, total = 0.0;
            without_gil([&] {
                Poll poll(interrupted);
                for (int64_t c = 0; c < k; ++c) total += in.weights[c] = std::fmax(in.sums[c * width], kImproveLeastCount);
                for (int64_t c = 0; c < k; ++c) {
                    poll.spent(square);
                    for (int64_t e = 0; e < square; ++e) pooled[e] += in.weights[c] / total * in.covariances[c * square + e];
                }
            });
            if (!on_all(in, kernels.lanes, n_threads,
                        [&](int64_t first, int64_t last) { return kernels.finish(in, pooled, total, first, last); }))
                return false;
            for (int64_t c = 0; c < k; ++c) in.weights[c] /= total;
            return true;
        },
        written("weights"), written("means"), written("covariances"), written("precision"), written("shift"), written("log_constant"),
        "old_means"_a, "old_covariances"_a, "sums"_a, "pooling"_a, "least_information"_a, "largest_change"_a, "floor"_a, "n_threads"_a,
        "level"_a);
}

}  // namespace badac
