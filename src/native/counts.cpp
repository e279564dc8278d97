// Poisson counts of log rates that follow a factor model, object by object. Twin: badac/_kernels/counts.py.
#include "counts.hpp"

#include <cmath>
#include <string>

#include "aligned.hpp"
#include "counts_kernel.hpp"
#include "dispatch.hpp"
#include "door.hpp"

namespace badac {
namespace {

constexpr Levels<CountsKernels> kLevels = BADAC_LEVELS(counts_kernels);

// The model with its factors turned, so that points lie side by side.
struct Model {
    CountsModel in{};
    AlignedVector<double> mean, psi, unit, per_unit, factors_t, products_t;

    Model(const Matrix& counts, const Matrix& exposure, const Vector& own_mean, const Matrix& factors, const Vector& own_psi, int group) {
        in.m = int64_t(counts.shape(1)), in.r = small(factors.shape(1), "too many factors");
        require(exposure.shape(0) == counts.shape(0) && int64_t(exposure.shape(1)) == in.m, "exposure does not fit counts");
        require(int64_t(factors.shape(0)) == in.m && in.r >= 1 && in.r <= kCountsMaxRank, "factors do not fit counts");
        require(int64_t(own_mean.shape(0)) == in.m, "mean does not fit counts");
        require(int64_t(own_psi.shape(0)) == in.m, "psi does not fit counts");
        in.padded = (in.m + group - 1) / group * group;
        const int r = in.r, p = r * (r + 1) / 2;
        mean.assign(size_t(in.padded), 0.0), psi.assign(size_t(in.padded), 1.0), unit.assign(size_t(in.padded), 1.0), per_unit.assign(size_t(in.padded), 1.0);
        factors_t.assign(size_t(r * in.padded), 0.0), products_t.assign(size_t(p * in.padded), 0.0);
        for (int64_t j = 0; j < in.m; ++j) {
            const double* row = factors.data() + j * r;
            double square = own_psi.data()[j];
            int64_t e = 0;
            for (int a = 0; a < r; ++a) {
                square += row[a] * row[a];
                factors_t[size_t(a * in.padded + j)] = row[a];
                for (int c = a; c < r; ++c, ++e) products_t[size_t(e * in.padded + j)] = row[a] * row[c];
            }
            mean[size_t(j)] = own_mean.data()[j], psi[size_t(j)] = own_psi.data()[j], unit[size_t(j)] = std::sqrt(square), per_unit[size_t(j)] = 1.0 / unit[size_t(j)];
        }
        in.mean = mean.data(), in.psi = psi.data(), in.unit = unit.data(), in.per_unit = per_unit.data();
        in.factors = factors.data(), in.factors_t = factors_t.data(), in.products_t = products_t.data();
    }
};

}  // namespace

void bind_counts(nb::module_& m) {
    m.attr("counts_max_rank") = kCountsMaxRank;
    m.attr("counts_max_nodes") = kCountsMaxNodes;
    m.def(
        "poisson_posterior",
        [](Output value, Output variance, Output link, const Matrix& counts, const Matrix& exposure, const Vector& mean, const Matrix& factors,
           const Vector& psi, int most, double settled, double largest, double widest, int n_threads, const std::string& level) {
            const CountsKernels& kernels = choose(kLevels, level);
            const Model model(counts, exposure, mean, factors, psi, kernels.group);
            require(most >= 1, "most must be at least 1");
            require(value.size() == counts.size() && variance.size() == counts.size() && link.size() == counts.size(),
                    "the results do not fit counts");
            const int64_t width = model.in.m;
            const CountsSteps steps{most, settled, largest, widest};
            const double packed = 0.5 * model.in.r * (model.in.r + 1.0);
            const double cost = double(most) * (double(width) * (40.0 + 2.0 * packed) + 2.0 * packed * model.in.r);
            over_each_object(int64_t(counts.shape(0)), cost, n_threads, kernels.posterior_work(model.in), [&](int64_t i, double* work) {
                kernels.posterior(model.in, steps, counts.data() + i * width, exposure.data() + i * width, work, value.data() + i * width,
                                  variance.data() + i * width, link.data() + i * width);
            });
        },
        written("value"), written("variance"), written("link"), "counts"_a, "exposure"_a, "mean"_a, "factors"_a, "psi"_a, "most"_a, "settled"_a,
        "largest"_a, "widest"_a, "n_threads"_a, "level"_a);
    m.def(
        "poisson_log_likelihood",
        [](Output out, const Matrix& counts, const Matrix& exposure, const Vector& mean, const Matrix& factors, const Vector& psi,
           const Cube& positions, const Vector& nodes, const Vector& log_weights, int n_threads, const std::string& level) {
            const CountsKernels& kernels = choose(kLevels, level);
            const Model model(counts, exposure, mean, factors, psi, kernels.group);
            const int64_t count = int64_t(positions.shape(1)), r = model.in.r, width = model.in.m;
            require(positions.shape(0) == counts.shape(0) && int64_t(positions.shape(2)) == r, "positions do not fit counts");
            require(count >= 1 && out.size() == counts.shape(0) * size_t(count), "out does not fit positions");
            const int n_nodes = small(nodes.shape(0), "too many nodes");
            require(n_nodes >= 1 && n_nodes <= kCountsMaxNodes && log_weights.shape(0) == nodes.shape(0), "log_weights do not fit nodes");
            const int64_t padded = model.in.padded;
            AlignedVector<double> away(size_t(width * n_nodes)), excess(size_t(width * n_nodes));
            AlignedVector<double> away_t(size_t(padded * n_nodes), 0.0), excess_t(size_t(padded * n_nodes), 0.0);
            for (int64_t j = 0; j < width; ++j)
                for (int q = 0; q < n_nodes; ++q) {
                    const size_t place = size_t(j * n_nodes + q);
                    away[place] = nodes.data()[q] * std::sqrt(psi.data()[j]);
                    excess[place] = std::expm1(away[place]);
                    away_t[size_t(q * padded + j)] = away[place], excess_t[size_t(q * padded + j)] = excess[place];
                }
            const CountsNodes through{n_nodes, away.data(), excess.data(), away_t.data(), excess_t.data(), log_weights.data()};
            const double cost = double(width * count) * (double(r) + 20.0 * (n_nodes + 1.0));
            over_each_object(int64_t(counts.shape(0)), cost, n_threads, kernels.likelihood_work(model.in, through, count), [&](int64_t i, double* work) {
                kernels.log_likelihood(model.in, through, counts.data() + i * width, exposure.data() + i * width,
                                       positions.data() + i * count * r, count, work, out.data() + i * count);
            });
        },
        written("out"), "counts"_a, "exposure"_a, "mean"_a, "factors"_a, "psi"_a, "positions"_a, "nodes"_a, "log_weights"_a, "n_threads"_a,
        "level"_a);
}

}  // namespace badac
