// Points of several Gaussian widths seen through a factor model, object by object. Twin: badac/_kernels/widths.py.
#include "widths.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "widths_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<WidthsKernels> kLevels = BADAC_LEVELS(widths_kernels);

// The model with its factors turned, so that points lie side by side.
struct Model {
    WidthsModel in{};
    AlignedVector<double> factors_t, psi_padded;
    std::vector<double> scale_squared;

    Model(const Matrix& residual, const Matrix& sigma, const Matrix& factors, const Vector& psi, const Vector& share, const Vector& scale,
          int group) {
        in.m = int64_t(residual.shape(1)), in.r = small(factors.shape(1), "too many factors"), in.n_widths = small(share.shape(0), "too many widths");
        require(sigma.shape(0) == residual.shape(0) && int64_t(sigma.shape(1)) == in.m, "sigma does not fit residual");
        require(int64_t(factors.shape(0)) == in.m && in.r >= 1 && in.r <= kWidthsMaxRank, "factors do not fit residual");
        require(int64_t(psi.shape(0)) == in.m, "psi does not fit residual");
        require(in.n_widths >= 1 && in.n_widths <= kWidthsMaxWidths && int64_t(scale.shape(0)) == in.n_widths, "scale does not fit share");
        in.padded = (in.m + group - 1) / group * group;
        const int r = in.r;
        factors_t.assign(size_t(r * in.padded), 0.0);
        for (int64_t j = 0; j < in.m; ++j)
            for (int a = 0; a < r; ++a) factors_t[size_t(a * in.padded + j)] = factors.data()[j * r + a];
        for (int c = 0; c < in.n_widths; ++c) scale_squared.push_back(scale.data()[c] * scale.data()[c]);
        in.widest = int(std::max_element(scale_squared.begin(), scale_squared.end()) - scale_squared.begin());
        psi_padded.assign(size_t(in.padded), 1.0);
        std::copy(psi.data(), psi.data() + in.m, psi_padded.begin());
        in.psi = psi_padded.data(), in.share = share.data();
        in.factors_t = factors_t.data(), in.scale_squared = scale_squared.data();
    }
};

}  // namespace

void bind_widths(nb::module_& m) {
    m.attr("widths_max_rank") = kWidthsMaxRank;
    m.attr("widths_max_widths") = kWidthsMaxWidths;
    m.def(
        "widths_posterior",
        [](Output weight, Output squared, const Matrix& residual, const Matrix& sigma, const Matrix& factors, const Vector& psi,
           const Vector& share, const Vector& scale, bool started, int max_steps, double tolerance, int n_threads,
           const std::string& level) {
            const WidthsKernels& kernels = choose(kLevels, level);
            const Model model(residual, sigma, factors, psi, share, scale, kernels.group);
            require(max_steps >= 1, "max_steps must be at least 1");
            require(weight.size() == residual.size() && squared.size() == residual.size(), "the results do not fit residual");
            const int64_t width = model.in.m;
            const double packed = 0.5 * model.in.r * (model.in.r + 1.0);
            const double cost = double(max_steps) * (double(width) * (20.0 * model.in.n_widths + 2.0 * packed) + 2.0 * packed * model.in.r);
            over_each_object(int64_t(residual.shape(0)), cost, n_threads, kernels.posterior_work(model.in), [&](int64_t i, double* work) {
                kernels.posterior(model.in, residual.data() + i * width, sigma.data() + i * width, started, max_steps, tolerance, work,
                                  weight.data() + i * width, squared.data() + i * width);
            });
        },
        written("weight"), written("squared"), "residual"_a, "sigma"_a, "factors"_a, "psi"_a, "share"_a, "scale"_a, "started"_a, "max_steps"_a, "tolerance"_a,
        "n_threads"_a, "level"_a);
    m.def(
        "widths_log_likelihood",
        [](Output out, const Matrix& residual, const Matrix& sigma, const Matrix& factors, const Vector& psi, const Vector& share,
           const Vector& scale, const Cube& positions, int n_threads, const std::string& level) {
            const WidthsKernels& kernels = choose(kLevels, level);
            const Model model(residual, sigma, factors, psi, share, scale, kernels.group);
            const int64_t count = int64_t(positions.shape(1)), r = model.in.r, width = model.in.m;
            require(positions.shape(0) == residual.shape(0) && int64_t(positions.shape(2)) == r, "positions do not fit residual");
            require(count >= 1 && out.size() == residual.shape(0) * size_t(count), "out does not fit positions");
            const double cost = double(width * count) * (double(r) + 20.0 * model.in.n_widths);
            over_each_object(int64_t(residual.shape(0)), cost, n_threads, kernels.likelihood_work(model.in, count), [&](int64_t i, double* work) {
                kernels.log_likelihood(model.in, residual.data() + i * width, sigma.data() + i * width, positions.data() + i * count * r,
                                       count, work, out.data() + i * count);
            });
        },
        written("out"), "residual"_a, "sigma"_a, "factors"_a, "psi"_a, "share"_a, "scale"_a, "positions"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
