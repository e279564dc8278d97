// The compiled core of badac: arrays in, arrays out. Each kernel has a NumPy twin in badac/_kernels.
// Shapes and types are checked in Python before they come here, and made sure of here: no call, however wrong, may end the process.
#include <chrono>
#include <string>

#include "counts.hpp"
#include "curves.hpp"
#include "dispatch.hpp"
#include "draws.hpp"
#include "factor.hpp"
#include "groups.hpp"
#include "hypothesis.hpp"
#include "improve.hpp"
#include "latent.hpp"
#include "mixture.hpp"
#include "moments.hpp"
#include "pair_door.hpp"
#include "low_rank.hpp"
#include "points.hpp"
#include "pointwise.hpp"
#include "rows.hpp"
#include "shape_rows.hpp"
#include "single.hpp"
#include "spread.hpp"
#include "trees.hpp"
#include "widths.hpp"

using namespace badac;

namespace {

using Found = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

PairArrays with_extra(PairArrays in, const Vector& extra) {
    require(int64_t(extra.shape(0)) == in.m, "extra_variance does not fit d");
    in.extra = extra.data();
    return in;
}

// Run without the GIL; a pair without any variance is told with its place.
template <class Kernel>
nb::dict run(const Kernel& kernel) {
    PairReport report;
    std::string problem;
    without_gil([&] {
        try {
            report = kernel();
        } catch (const ZeroVariance& at) {
            problem = "a pair needs a variance: the sigmas of object " + std::to_string(at.object) + " and curve " +
                      std::to_string(at.curve) + " are both zero at point " + std::to_string(at.point) +
                      " and extra_variance is zero there. Give one of them an error, or an extra_variance.";
        }
    });
    if (!problem.empty()) throw nb::value_error(problem.c_str());
    nb::dict out;
    out["screened"] = report.screened;
    out["survived"] = report.survived;
    out["in_double"] = report.in_double;
    out["careful"] = report.careful;
    return out;
}

}  // namespace

NB_MODULE(_core, m) {
    m.attr("abi") = 22;  // to be counted up, here and in badac/_kernels/compiled_calls.py, when a signature changes
    bind_draws(m);
    bind_factor(m);
    bind_groups(m);
    bind_hypothesis(m);
    bind_curves(m);
    bind_improve(m);
    bind_latent(m);
    bind_mixture(m);
    bind_moments(m);
    bind_points(m);
    bind_shape_rows(m);
    bind_single(m);
    bind_low_rank(m);
    bind_pointwise(m);
    bind_rows(m);
    bind_spread(m);
    bind_trees(m);
    bind_counts(m);
    bind_widths(m);

    m.def("levels", [] {
        nb::list names;
        for (const PairKernels* level : available_pair_kernels()) names.append(nb::str(level->name));
        return names;
    });

    m.def(
        "pair_logsumexp",
        [](Output out, const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma, const Vector& extra,
           const nb::object& log_weights, const nb::object& skip, int n_threads, bool screen, int64_t objects_per_block,
           int64_t curves_per_block, const std::string& level) {
            PairArrays in = with_extra(pair_arrays(d, d_sigma, y, y_sigma), extra);
            require(out.size() == size_t(in.n), "out does not fit d");
            require_threads(n_threads);
            const Choice choice(in, log_weights, skip);
            const PairKernels& kernels = choose_pair_kernels(level);
            PairOptions options;
            options.n_threads = n_threads, options.screen = screen, options.interrupted = interrupted;
            options.objects_per_block = objects_per_block, options.curves_per_block = curves_per_block;
            return run([&] { return pair_logsumexp(in, kernels, options, out.data()); });
        },
        written("out"), "d"_a, "d_sigma"_a, "y"_a, "y_sigma"_a, "extra_variance"_a, "log_weights"_a.none(), "skip"_a.none(), "n_threads"_a,
        "screen"_a, "objects_per_block"_a, "curves_per_block"_a, "level"_a);

    m.def(
        "pair_best",
        [](const Found& out, const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma, const Vector& extra,
           const nb::object& log_weights, const nb::object& skip, int n_threads, const std::string& level) {
            PairArrays in = with_extra(pair_arrays(d, d_sigma, y, y_sigma), extra);
            require(out.size() == size_t(in.n), "out does not fit d");
            require_threads(n_threads);
            const Choice choice(in, log_weights, skip);
            const PairKernels& kernels = choose_pair_kernels(level);
            PairOptions options;
            options.n_threads = n_threads, options.interrupted = interrupted;
            return run([&] { return pair_best(in, kernels, options, out.data()); });
        },
        written("out"), "d"_a, "d_sigma"_a, "y"_a, "y_sigma"_a, "extra_variance"_a, "log_weights"_a.none(), "skip"_a.none(), "n_threads"_a,
        "level"_a);

    m.def(
        "pair_log_match",
        [](Output out, const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma, const Vector& extra, int n_threads,
           const std::string& level) {
            const PairArrays in = with_extra(pair_arrays(d, d_sigma, y, y_sigma), extra);
            require(out.size() == size_t(in.n * in.k), "out does not fit d and y");
            require_threads(n_threads);
            const PairKernels& kernels = choose_pair_kernels(level);
            PairOptions options;
            options.n_threads = n_threads, options.interrupted = interrupted;
            return run([&] { return pair_log_match(in, kernels, options, out.data()); });
        },
        written("out"), "d"_a, "d_sigma"_a, "y"_a, "y_sigma"_a, "extra_variance"_a, "n_threads"_a, "level"_a);

    // Nanoseconds per double of a multiply-add on this thread, the limit that benchmarks quote.
    m.def(
        "multiply_add_ns",
        [](const std::string& level) {
            const PairKernels& kernels = choose_pair_kernels(level);
            nb::gil_scoped_release release;
            double best = 1e9;
            for (int repeat = 0; repeat < 20; ++repeat) {
                int lanes = 1;
                const int64_t n = 10000000;
                const auto start = std::chrono::steady_clock::now();
                const double result = kernels.multiply_adds(n, &lanes);
                const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
                if (result != 0.0 && ns / double(n * lanes) < best) best = ns / double(n * lanes);
            }
            return best;
        },
        "level"_a);
}
