// Random curves integrated out, over blocks of objects. Shapes are made sure of here; their meaning is in badac/_kernels/hypotheses.py.
#include "curves.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "aligned.hpp"
#include "curves_kernel.hpp"
#include "dispatch.hpp"
#include "grid_door.hpp"

namespace badac {
namespace {

using Places = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr Levels<CurvesKernels> kLevels = BADAC_LEVELS(curves_kernels);

// A matrix (m, columns) as (tiles, m, tile), the last tile filled with zeros.
AlignedVector<double> tiled(const Matrix& from, int tile) {
    const int64_t m = int64_t(from.shape(0)), columns = int64_t(from.shape(1)), tiles = (columns + tile - 1) / tile;
    AlignedVector<double> out(size_t(tiles * m * tile));
    for (int64_t t = 0; t < tiles; ++t) {
        const int64_t here = std::min<int64_t>(tile, columns - t * tile);
        for (int64_t j = 0; j < m; ++j) std::copy_n(from.data() + j * columns + t * tile, here, out.data() + (t * m + j) * tile);
    }
    return out;
}

// The alternatives, one after the other in each of the arrays.
std::vector<CurveAlternative> alternatives(const Places& columns, const Places& sizes, const Places& chosen, const Places& first,
                                           const Places& second, const Vector& size_of, int sums, int all, int rank) {
    require(columns.size() == sizes.size(), "columns do not fit sizes");
    std::vector<CurveAlternative> out;
    size_t dimensions = 0, entries = 0, features = 0;
    for (size_t which = 0; which < columns.size(); ++which) {
        const int own = columns.data()[which], size = sizes.data()[which];
        require(size >= 1 && size <= kMaxCurveSize && own >= 0 && own <= size, "1 to 96 dimensions, of which some are integrated");
        require(size - own == rank, "what is left does not fit the components");
        out.push_back({own, size, chosen.data() + dimensions, first.data() + entries, second.data() + entries, size_of.data() + features});
        dimensions += size_t(size), entries += size_t(size) * size_t(size + 1) / 2, features += size_t(own);
    }
    require(chosen.size() == dimensions && first.size() == entries && second.size() == entries && size_of.size() == features,
            "chosen, first, second or size_of does not fit the alternatives");
    for (size_t a = 0; a < dimensions; ++a) require(chosen.data()[a] >= 0 && chosen.data()[a] < all, "chosen is out of range");
    for (size_t e = 0; e < entries; ++e)
        require(first.data()[e] >= 0 && first.data()[e] < sums && second.data()[e] >= -1 && second.data()[e] < sums,
                "first or second is out of range");
    return out;
}

}  // namespace

void bind_curves(nb::module_& m) {
    m.attr("curves_max_size") = kMaxCurveSize;
    m.def(
        "curve_log_evidence",
        [](Output out, const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi, const Indices& rows,
           const Matrix& products, const Matrix& columns, const Places& integrated, const Places& sizes, const Places& chosen,
           const Places& first, const Places& second, const Vector& size_of, double base, double share, const Matrix& component_precision,
           const Matrix& component_shift, const Vector& log_constant, int n_threads, const std::string& level) {
            CurveArrays in{};
            in.points = grid_points(values, sigma, mean, psi, rows);
            in.sums = small(products.shape(1), "too many sums"), in.all = small(columns.shape(1), "too many dimensions");
            require(in.sums < (1 << 24) && in.all < (1 << 24), "too many sums");
            require(int64_t(products.shape(0)) == in.points.m && int64_t(columns.shape(0)) == in.points.m, "products or columns do not fit values");
            LatentArrays& mixture = in.mixture;
            mixture.k = int64_t(component_shift.shape(0)), mixture.r = small(component_shift.shape(1), "too many dimensions");
            mixture.p = mixture.r <= kMaxRank ? mixture.r * (mixture.r + 1) / 2 : 0;
            require(mixture.r <= kMaxRank && (mixture.r == 0 || mixture.k >= 1), "components of at most 48 dimensions");
            require(int64_t(component_precision.shape(0)) == mixture.k && int64_t(component_precision.shape(1)) == mixture.p &&
                        int64_t(log_constant.size()) == mixture.k,
                    "the components do not fit");
            mixture.component_precision = component_precision.data(), mixture.component_shift = component_shift.data();
            mixture.log_constant = log_constant.data();
            const auto ways = alternatives(integrated, sizes, chosen, first, second, size_of, in.sums, in.all, mixture.r);
            in.alternatives = int(ways.size()), in.alternative = ways.data(), in.base = base, in.share = share, in.out = out.data();
            require(out.size() == size_t(in.points.n) && !ways.empty(), "out does not fit, or there is no alternative");
            const CurvesKernels& kernels = choose(kLevels, level);
            double cost = double(in.points.m) * (in.sums + in.all + 40.0);
            for (const CurveAlternative& one : ways)
                cost += double(one.columns) * one.size * one.size / 2.0 + double(mixture.k) * (double(mixture.r) * mixture.p / 3.0 + mixture.p + 20.0);
            AlignedVector<double> product_tiles, column_tiles;
            const auto worker = [&] {
                return [&, memory = AlignedVector<double>(size_t(kernels.scratch(in)))](int64_t from, int64_t to) mutable {
                    kernels.log_evidence(in, from, to, memory.data());
                };
            };
            over_objects(in.points.n, objects_per_block(cost, 16), n_threads, worker, [&] {
                product_tiles = tiled(products, kernels.tile), column_tiles = tiled(columns, kernels.tile);
                in.products = product_tiles.data(), in.columns = column_tiles.data();
            });
        },
        written("out"), "values"_a, "sigma"_a, "mean"_a, "psi"_a, "rows"_a, "products"_a, "columns"_a, "integrated"_a, "sizes"_a, "chosen"_a,
        "first"_a, "second"_a, "size_of"_a, "base"_a, "share"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "n_threads"_a,
        "level"_a);
}

}  // namespace badac
