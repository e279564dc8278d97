// The kernels of the anomaly hypotheses over blocks of objects. Shapes are made sure of here; their meaning is in
// badac/_kernels/hypotheses.py.
#include "hypothesis.hpp"

#include <string>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "grid_door.hpp"
#include "hypothesis_kernel.hpp"

namespace badac {
namespace {

using Places = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr Levels<HypothesisKernels> kLevels = BADAC_LEVELS(hypothesis_kernels);

}  // namespace

void bind_hypothesis(nb::module_& m) {
    m.attr("hypothesis_max_size") = kMaxDeviation;
    m.attr("bump_max_rank") = kMaxBumpRank;
    m.attr("bump_max_asked") = kMaxAsked;
    m.def(
        "latent_without",
        [](Output out_precision, Output out_shift, Output out_offset, const Matrix& sums, const Matrix& shift, const Vector& offset,
           const Matrix& amplitude, const Places& chosen, const Places& first, const Places& second, int n_threads,
           const std::string& level) {
            WithoutArrays in{};
            in.n = int64_t(shift.shape(0)), in.all = small(shift.shape(1), "too many dimensions"), in.sums_width = small(sums.shape(1), "too many sums");
            require(in.sums_width < (1 << 24), "too many sums");
            in.columns = small(amplitude.shape(1), "too many columns"), in.size = small(chosen.shape(0), "too many dimensions");
            const int rest = in.size - in.columns;
            require(in.size >= 1 && in.size <= kMaxDeviation && rest >= 0, "1 to 96 dimensions, of which some are integrated");
            const int entries = in.size * (in.size + 1) / 2;
            require(int64_t(sums.shape(0)) == in.n, "sums do not fit shift");
            require(int64_t(offset.shape(0)) == in.n && int64_t(amplitude.shape(0)) == in.n, "offset or amplitude does not fit shift");
            require(int64_t(first.shape(0)) == entries && int64_t(second.shape(0)) == entries, "first or second does not fit chosen");
            for (int a = 0; a < in.size; ++a) require(chosen.data()[a] >= 0 && chosen.data()[a] < in.all, "chosen is out of range");
            for (int e = 0; e < entries; ++e)
                require(first.data()[e] >= 0 && first.data()[e] < in.sums_width && second.data()[e] >= -1 && second.data()[e] < in.sums_width,
                        "first or second is out of range");
            require(out_precision.size() == size_t(in.n * (rest * (rest + 1) / 2)) && out_shift.size() == size_t(in.n * rest) &&
                        out_offset.size() == size_t(in.n),
                    "the outputs do not fit");
            // Only the columns that are used are brought into lanes, each once.
            std::vector<int32_t> number(size_t(in.sums_width), -1), used, pair(2 * size_t(entries), -1);
            for (int e = 0; e < 2 * entries; ++e) {
                const int32_t column = e < entries ? first.data()[e] : second.data()[e - entries];
                if (column < 0) continue;
                if (number[size_t(column)] < 0) number[size_t(column)] = int32_t(used.size()), used.push_back(column);
                pair[size_t(e)] = number[size_t(column)];
            }
            in.used = used.data(), in.used_count = int(used.size()), in.first = pair.data(), in.second = pair.data() + entries;
            in.chosen = chosen.data();
            in.sums = sums.data(), in.shift = shift.data(), in.offset = offset.data(), in.amplitude = amplitude.data();
            in.out_precision = out_precision.data(), in.out_shift = out_shift.data(), in.out_offset = out_offset.data();
            const HypothesisKernels& kernels = choose(kLevels, level);
            over_objects(in.n, objects_per_block(double(in.columns) * in.size * in.size), n_threads, [&] {
                return [&, scratch = AlignedVector<double>(used.size() * size_t(kernels.lanes))](int64_t from, int64_t to) mutable {
                    kernels.without(in, from, to, scratch.data());
                };
            });
        },
        written("out_precision"), written("out_shift"), written("out_offset"), "sums"_a, "shift"_a, "offset"_a, "amplitude"_a, "chosen"_a, "first"_a,
        "second"_a, "n_threads"_a, "level"_a);

    m.def(
        "bumps",
        [](Output out, const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi, const Indices& rows,
           const Matrix& factors, const Matrix& precision, const Matrix& shift, const Rows& which, const Matrix& component_precision, const Matrix& component_shift, const Places& first, const Places& length,
           const Indices& begin, const Vector& height, const Matrix& log_share, double shrink, int n_threads, const std::string& level) {
            BumpArrays in{};
            in.points = grid_points(values, sigma, mean, psi, rows);
            const int64_t n = in.points.n, all = int64_t(values.shape(0)), m = in.points.m;
            in.r = small(factors.shape(1), "too many dimensions"), in.asked = small(which.shape(1), "too many components");
            in.bumps = small(first.shape(0), "too many bumps");
            const int64_t k = int64_t(component_shift.shape(0));
            require(in.r >= 1 && in.r <= kMaxBumpRank && in.asked >= 1 && in.asked <= kMaxAsked, "too many dimensions or components");
            in.p = in.r * (in.r + 1) / 2;
            require(int64_t(factors.shape(0)) == m, "factors do not fit values");
            require(int64_t(precision.shape(0)) == all && int64_t(precision.shape(1)) == in.p && int64_t(shift.shape(0)) == all &&
                        int64_t(shift.shape(1)) == in.r,
                    "precision or shift does not fit");
            require(int64_t(component_precision.shape(0)) == k && int64_t(component_precision.shape(1)) == in.p &&
                        int64_t(component_shift.shape(1)) == in.r && int64_t(which.shape(0)) == n,
                    "the components do not fit");
            for (size_t e = 0; e < which.size(); ++e) require(which.data()[e] >= 0 && which.data()[e] < k, "which is out of range");
            require(int64_t(length.shape(0)) == in.bumps && int64_t(begin.shape(0)) == in.bumps, "length or begin does not fit first");
            // Differences, which do not overflow as sums would.
            for (int b = 0; b < in.bumps; ++b)
                require(first.data()[b] >= 0 && length.data()[b] >= 0 && first.data()[b] <= m && length.data()[b] <= m - first.data()[b] &&
                            begin.data()[b] >= 0 && begin.data()[b] <= int64_t(height.shape(0)) - length.data()[b],
                        "a bump is out of range");
            require(out.size() == size_t(n) * (shrink > 0.0 ? 1 : size_t(in.asked) * size_t(in.bumps)), "out does not fit");
            require(!(shrink > 0.0) || (shrink < 1.0 && int64_t(log_share.shape(0)) == n && int64_t(log_share.shape(1)) == in.asked),
                    "log_share does not fit which, or shrink is not below 1");
            in.factors = factors.data();
            in.precision = precision.data(), in.shift = shift.data(), in.which = which.data();
            in.component_precision = component_precision.data(), in.component_shift = component_shift.data();
            in.first = first.data(), in.length = length.data(), in.begin = begin.data(), in.height = height.data();
            in.shrink = shrink, in.log_share = log_share.data(), in.out = out.data();
            const HypothesisKernels& kernels = choose(kLevels, level);
            const size_t vectors = size_t(2 + in.asked) * size_t(m) + size_t(2 * in.asked) * in.bumps;
            const double cost = double(height.shape(0) + 1) * (in.r + in.asked + 1.0) + double(in.bumps) * in.asked * (in.p + 20.0);
            over_objects(n, objects_per_block(cost), n_threads, [&] {
                return [&, scratch = AlignedVector<double>(vectors * kernels.lanes)](int64_t from, int64_t to) mutable {
                    kernels.bump(in, from, to, scratch.data());
                };
            });
        },
        written("out"), "values"_a, "sigma"_a, "mean"_a, "psi"_a, "rows"_a, "factors"_a, "precision"_a, "shift"_a, "which"_a, "component_precision"_a, "component_shift"_a,
        "first"_a, "length"_a, "begin"_a, "height"_a, "log_share"_a, "shrink"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
