// The latent kernels over blocks of objects. Shapes are made sure of here; their meaning is in badac/_kernels/latent.py.
#include "latent.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "latent_kernel.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace badac {
namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

constexpr int64_t kObjectsPerBlock = 256;

void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

const LatentKernels& choose(const std::string& level) {
    const std::string name = choose_pair_kernels(level).name;
#ifdef BADAC_WITH_X86_LEVELS
    if (name == "avx512") return *latent_kernels_avx512();
    if (name == "avx2") return *latent_kernels_avx2();
#endif
    return *latent_kernels_baseline();
}

LatentArrays arrays(const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift) {
    LatentArrays in{};
    in.n = int64_t(shift.shape(0)), in.k = int64_t(component_shift.shape(0)), in.r = int(shift.shape(1));
    in.p = in.r * (in.r + 1) / 2;
    require(in.r >= 1 && in.r <= kMaxRank, "the latent kernels work in 1 to 48 dimensions");
    require(int64_t(precision.shape(0)) == in.n && int(precision.shape(1)) == in.p, "precision does not fit shift");
    require(int(component_shift.shape(1)) == in.r, "component_shift does not fit shift");
    require(int64_t(component_precision.shape(0)) == in.k && int(component_precision.shape(1)) == in.p,
            "component_precision does not fit component_shift");
    in.precision = precision.data(), in.shift = shift.data();
    in.component_precision = component_precision.data(), in.component_shift = component_shift.data();
    return in;
}

bool interrupted() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

}  // namespace

void bind_latent(nb::module_& m) {
    m.attr("latent_max_rank") = kMaxRank;
    m.def(
        "latent_log_match",
        [](Output out, const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
           const Vector& log_constant, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift);
            require(out.size() == size_t(in.n * in.k) && int64_t(log_constant.shape(0)) == in.k, "out or log_constant does not fit");
            const LatentKernels& kernels = choose(level);
            bool stopped = false;
            {
                nb::gil_scoped_release release;
                Blocks blocks((in.n + kObjectsPerBlock - 1) / kObjectsPerBlock, interrupted);
                try {
                    blocks.run(n_threads, [&](Blocks& queue) {
                        for (int64_t block; queue.next(block);)
                            kernels.log_match(in, log_constant.data(), block * kObjectsPerBlock,
                                              std::min(in.n, (block + 1) * kObjectsPerBlock), out.data());
                    });
                } catch (const Interrupted&) {
                    stopped = true;
                }
            }
            if (stopped) throw nb::python_error();
        },
        "out"_a, "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "n_threads"_a, "level"_a);

    m.def(
        "latent_sums",
        [](Output count, Output first, Output second, Output spread, const Matrix& precision, const Matrix& shift,
           const Matrix& component_precision, const Matrix& component_shift, const Matrix& responsibility, double threshold,
           const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift);
            require(int64_t(responsibility.shape(0)) == in.n && int64_t(responsibility.shape(1)) == in.k,
                    "responsibility does not fit objects and components");
            require(int64_t(count.size()) == in.k && int64_t(first.size()) == in.k * in.r && int64_t(second.size()) == in.k * in.p &&
                        int64_t(spread.size()) == in.k * in.p,
                    "the outputs do not fit the components");
            const LatentKernels& kernels = choose(level);
            nb::gil_scoped_release release;
            std::vector<int32_t> list;
            std::vector<double> weight;
            for (int64_t k = 0; k < in.k; ++k) {
                list.clear(), weight.clear();
                for (int64_t i = 0; i < in.n; ++i) {
                    const double share = responsibility.data()[i * in.k + k];
                    if (share > threshold) list.push_back(int32_t(i)), weight.push_back(share);
                }
                if (list.empty()) continue;
                kernels.sums(in, k, list.data(), weight.data(), int64_t(list.size()), count.data() + k, first.data() + k * in.r,
                             second.data() + k * in.p, spread.data() + k * in.p);
            }
        },
        "count"_a, "first"_a, "second"_a, "spread"_a, "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a,
        "responsibility"_a, "threshold"_a, "level"_a);
}

}  // namespace badac
