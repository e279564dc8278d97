// The latent kernels over blocks of objects. Shapes are made sure of here; their meaning is in badac/_kernels/latent.py.
#include "latent.hpp"

#include <string>
#include <vector>

#include "dispatch.hpp"
#include "door.hpp"
#include "latent_kernel.hpp"

namespace badac {
namespace {

using Flags = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr int64_t kObjectsPerBlock = 256;

constexpr Levels<LatentKernels> kLevels = BADAC_LEVELS(latent_kernels);

LatentArrays arrays(const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift) {
    LatentArrays in{};
    in.n = int64_t(shift.shape(0)), in.k = int64_t(component_shift.shape(0)), in.r = int(shift.shape(1));
    in.p = in.r * (in.r + 1) / 2;
    require(in.r >= 1 && in.r <= kMaxRank, "the latent kernels work in 1 to 48 dimensions");
    require(in.k >= 1, "there must be a component");
    require(int64_t(precision.shape(0)) == in.n && int(precision.shape(1)) == in.p, "precision does not fit shift");
    require(int(component_shift.shape(1)) == in.r, "component_shift does not fit shift");
    require(int64_t(component_precision.shape(0)) == in.k && int(component_precision.shape(1)) == in.p,
            "component_precision does not fit component_shift");
    in.precision = precision.data(), in.shift = shift.data();
    in.component_precision = component_precision.data(), in.component_shift = component_shift.data();
    return in;
}

LatentArrays arrays(const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
                    const Vector& log_constant) {
    LatentArrays in = arrays(precision, shift, component_precision, component_shift);
    require(int64_t(log_constant.shape(0)) == in.k, "log_constant does not fit component_shift");
    in.log_constant = log_constant.data();
    return in;
}

// Run work(first, last) on blocks of objects.
template <class Work>
void in_blocks(int64_t n, int n_threads, const Work& work) {
    over_objects(n, kObjectsPerBlock, n_threads, [&] { return work; });
}

}  // namespace

void bind_latent(nb::module_& m) {
    m.attr("latent_max_rank") = kMaxRank;
    m.attr("latent_group") = kGroup;
    m.def(
        "latent_log_match",
        [](Output out, const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
           const Vector& log_constant, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            require(int64_t(out.size()) == in.n * in.k, "out does not fit");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, n_threads, [&](int64_t first, int64_t last) { kernels.log_match(in, first, last, out.data()); });
        },
        "out"_a, "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "n_threads"_a, "level"_a);

    m.def(
        "latent_log_evidence",
        [](Output out, const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
           const Vector& log_constant, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            require(int64_t(out.size()) == in.n, "out does not fit");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, n_threads, [&](int64_t first, int64_t last) {
                std::vector<double> scratch(size_t(in.k * kMostLanes));
                kernels.log_evidence(in, first, last, scratch.data(), out.data());
            });
        },
        "out"_a, "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "n_threads"_a, "level"_a);

    m.def(
        "latent_posterior",
        [](Output covariance, Output mean, Output log_det, const Matrix& precision, const Matrix& shift, const Matrix& component_precision,
           const Matrix& component_shift, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift);
            require(in.k == 1 && int64_t(covariance.size()) == in.n * in.p && int64_t(mean.size()) == in.n * in.r && int64_t(log_det.size()) == in.n,
                    "the outputs do not fit the objects");
            const LatentKernels& kernels = choose(kLevels, level);
            nb::gil_scoped_release release;
            kernels.posterior(in, covariance.data(), mean.data(), log_det.data());
        },
        "covariance"_a, "mean"_a, "log_det"_a, "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "level"_a);

    m.def(
        "latent_step",
        [](Output evidence, Output sums, Flags near, const Matrix& precision, const Matrix& shift, const Matrix& component_precision,
           const Matrix& component_shift, const Vector& log_constant, bool refresh, double threshold, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            const int64_t width = 1 + in.r + 2 * in.p;
            require(int64_t(evidence.size()) == in.n && int64_t(sums.size()) == in.k * width, "the outputs do not fit");
            require(int64_t(near.shape(0)) == (in.n + kGroup - 1) / kGroup && int64_t(near.shape(1)) == in.k,
                    "near does not fit groups of objects and components");
            const LatentKernels& kernels = choose(kLevels, level);
            nb::gil_scoped_release release;
            std::vector<double> scratch(size_t(in.k * kMostLanes)), vectors(size_t(in.k * width * kMostLanes));
            kernels.step(in, refresh, threshold, near.data(), scratch.data(), vectors.data(), evidence.data(), sums.data());
        },
        "evidence"_a, "sums"_a, "near"_a, "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a,
        "refresh"_a, "threshold"_a, "level"_a);

    m.def(
        "latent_left_out",
        [](Output evidence, const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
           const Vector& log_constant, const Matrix& means, const Vector& count, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            require(int64_t(evidence.size()) == in.n && int64_t(means.size()) == in.k * in.r && int64_t(count.size()) == in.k,
                    "evidence, means or count does not fit");
            const LatentKernels& kernels = choose(kLevels, level);
            nb::gil_scoped_release release;
            std::vector<double> scratch(size_t(2 * in.k * kMostLanes));
            kernels.left_out(in, means.data(), count.data(), scratch.data(), evidence.data());
        },
        "evidence"_a, "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "means"_a, "count"_a,
        "level"_a);

    m.def(
        "weigh_points",
        [](Output weight, Output scaled, Output offset, const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi,
           const std::string& level) {
            const int64_t n = int64_t(values.shape(0)), points = int64_t(values.shape(1));
            require(int64_t(sigma.shape(0)) == n && int64_t(sigma.shape(1)) == points, "sigma does not fit values");
            require(int64_t(mean.size()) == points && int64_t(psi.size()) == points, "mean or psi does not fit values");
            require(int64_t(weight.size()) == n * points && int64_t(scaled.size()) == n * points && int64_t(offset.size()) == n,
                    "the outputs do not fit values");
            const LatentKernels& kernels = choose(kLevels, level);
            nb::gil_scoped_release release;
            kernels.weigh(values.data(), sigma.data(), mean.data(), psi.data(), n, points, weight.data(), scaled.data(), offset.data());
        },
        "weight"_a, "scaled"_a, "offset"_a, "values"_a, "sigma"_a, "mean"_a, "psi"_a, "level"_a);
}

}  // namespace badac
