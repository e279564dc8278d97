// The compiled core of badac: arrays in, arrays out. Each kernel has a NumPy twin in badac/_kernels/reference.py.
// Shapes and types are checked by badac/_kernels/arguments.py before they come here; here they are only made sure of.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <string>

#include "dispatch.hpp"
#include "hypothesis.hpp"
#include "latent.hpp"
#include "mixture.hpp"
#include "pair.hpp"
#include "threads.hpp"
#include "widths.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

bool interrupted() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

badac::PairArrays pair_arrays(const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma, const Vector& extra) {
    badac::PairArrays in{};
    in.n = int64_t(d.shape(0)), in.k = int64_t(y.shape(0)), in.m = int64_t(d.shape(1));
    require(in.k >= 1 && int64_t(y.shape(1)) == in.m && in.m < (int64_t(1) << 24), "y does not fit d");
    require(int64_t(d_sigma.shape(1)) == in.m && (int64_t(d_sigma.shape(0)) == in.n || d_sigma.shape(0) == 1), "d_sigma does not fit d");
    require(int64_t(y_sigma.shape(1)) == in.m && (int64_t(y_sigma.shape(0)) == in.k || y_sigma.shape(0) == 1), "y_sigma does not fit y");
    require(int64_t(extra.shape(0)) == in.m, "extra_variance does not fit d");
    in.d = d.data(), in.d_sigma = d_sigma.data(), in.d_sigma_shared = d_sigma.shape(0) == 1;
    in.y = y.data(), in.y_sigma = y_sigma.data(), in.y_sigma_shared = y_sigma.shape(0) == 1;
    in.extra = extra.data();
    return in;
}

// Run without the GIL; an interrupt leaves Python's own exception set.
template <class Kernel>
nb::dict run(const Kernel& kernel) {
    badac::PairReport report;
    std::string problem;
    bool stopped = false;
    {
        nb::gil_scoped_release release;
        try {
            report = kernel();
        } catch (const badac::Interrupted&) {
            stopped = true;
        } catch (const badac::ZeroVariance& at) {
            problem = "a pair needs a variance: the sigmas of object " + std::to_string(at.object) + " and curve " +
                      std::to_string(at.curve) + " are both zero at point " + std::to_string(at.point) +
                      " and extra_variance is zero there. Give one of them an error, or an extra_variance.";
        }
    }
    if (stopped) throw nb::python_error();
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
    m.attr("abi") = 2;
    badac::bind_hypothesis(m);
    badac::bind_latent(m);
    badac::bind_mixture(m);
    badac::bind_widths(m);

    m.def("levels", [] {
        nb::list names;
        for (const badac::PairKernels* level : badac::available_pair_kernels()) names.append(nb::str(level->name));
        return names;
    });

    m.def(
        "pair_logsumexp",
        [](Output out, const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma, const Vector& extra,
           const nb::object& log_weights, const nb::object& skip, int n_threads, bool screen, int64_t objects_per_block,
           int64_t curves_per_block, const std::string& level) {
            badac::PairArrays in = pair_arrays(d, d_sigma, y, y_sigma, extra);
            require(out.size() == size_t(in.n), "out does not fit d");
            Vector weights;
            Indices leave_out;
            if (!log_weights.is_none()) {
                weights = nb::cast<Vector>(log_weights);
                require(int64_t(weights.shape(0)) == in.k, "log_weights does not fit y");
                in.log_weights = weights.data();
            }
            if (!skip.is_none()) {
                leave_out = nb::cast<Indices>(skip);
                require(int64_t(leave_out.shape(0)) == in.n, "skip does not fit d");
                in.skip = leave_out.data();
            }
            const badac::PairKernels& kernels = badac::choose_pair_kernels(level);
            badac::PairOptions options;
            options.n_threads = n_threads, options.screen = screen, options.interrupted = interrupted;
            options.objects_per_block = objects_per_block, options.curves_per_block = curves_per_block;
            return run([&] { return badac::pair_logsumexp(in, kernels, options, out.data()); });
        },
        "out"_a, "d"_a, "d_sigma"_a, "y"_a, "y_sigma"_a, "extra_variance"_a, "log_weights"_a.none(), "skip"_a.none(), "n_threads"_a,
        "screen"_a, "objects_per_block"_a, "curves_per_block"_a, "level"_a);

    m.def(
        "pair_log_match",
        [](Output out, const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma, const Vector& extra, int n_threads,
           const std::string& level) {
            const badac::PairArrays in = pair_arrays(d, d_sigma, y, y_sigma, extra);
            require(out.size() == size_t(in.n * in.k), "out does not fit d and y");
            const badac::PairKernels& kernels = badac::choose_pair_kernels(level);
            badac::PairOptions options;
            options.n_threads = n_threads, options.interrupted = interrupted;
            return run([&] { return badac::pair_log_match(in, kernels, options, out.data()); });
        },
        "out"_a, "d"_a, "d_sigma"_a, "y"_a, "y_sigma"_a, "extra_variance"_a, "n_threads"_a, "level"_a);

    // Nanoseconds per double of a multiply-add on this thread, the limit that benchmarks quote.
    m.def(
        "multiply_add_ns",
        [](const std::string& level) {
            const badac::PairKernels& kernels = badac::choose_pair_kernels(level);
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
