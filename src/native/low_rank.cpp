// Points of an object's own under a Gaussian of low rank plus diagonal. Twin: badac/_kernels/low_rank.py.
#include "low_rank.hpp"

#include <string>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "low_rank_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<LowRankKernels> kLevels = BADAC_LEVELS(low_rank_kernels);
using Bands = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Sums are made of whole matrices of a thread: shapes and columns that are integrated out are few.
constexpr int64_t kMostColumns = 2048;

// Points as they came, made sure of.
struct Given {
    const Matrix &residual, &variance;
    const Bands& band;
    const Cube &shapes, &local;

    int64_t objects() const { return int64_t(residual.shape(0)); }
    int64_t points() const { return int64_t(residual.shape(1)); }

    LowRankModel model() const {
        const int64_t n = objects(), p = points();
        require(int64_t(variance.shape(0)) == n && int64_t(variance.shape(1)) == p, "variance does not fit residual");
        require(int64_t(band.shape(0)) == n && int64_t(band.shape(1)) == p, "band does not fit residual");
        require(int64_t(shapes.shape(0)) == n && int64_t(shapes.shape(1)) == p, "shapes do not fit residual");
        require(int64_t(local.shape(0)) == n && int64_t(local.shape(1)) == p, "local shapes do not fit residual");
        require(int64_t(shapes.shape(2)) <= kMostColumns && int64_t(local.shape(2)) <= kMostColumns, "too many shapes");
        LowRankModel in{};
        in.r = int(shapes.shape(2)), in.j = int(local.shape(2)), in.p = p;
        in.residual = residual.data(), in.variance = variance.data(), in.band = band.data();
        in.shapes = shapes.data(), in.local = local.data();
        return in;
    }
};

// Which objects, which columns belong to each, and the model with them.
struct Asked {
    LowRankModel in;
    const int64_t *rows, *places;
    int64_t n;

    Asked(const Given& given, const Indices& rows_, const Cube& columns, const Indices& places_)
        : in(given.model()), rows(rows_.data()), places(places_.data()), n(int64_t(rows_.shape(0))) {
        require(int64_t(columns.shape(1)) == given.points(), "columns do not fit residual");
        require(int64_t(places_.shape(0)) == n, "places do not fit rows");
        require(columns.shape(2) < (size_t(1) << 24), "too many columns");
        for (int64_t i = 0; i < n; ++i) {
            require(rows[i] >= 0 && rows[i] < given.objects(), "rows are out of range");
            require(places[i] >= 0 && places[i] < int64_t(columns.shape(0)), "places are out of range");
        }
        in.q = int(columns.shape(2)), in.columns = columns.data();
    }
};

// The points of one object, those of a band together.
class Ordering {
  public:
    LowRankObject of(const LowRankModel& in, int64_t row, int64_t place) {
        const int64_t* band = in.band + row * in.p;
        order_.clear();
        bool sorted = true;
        for (int64_t k = 0; k < in.p; ++k) {
            if (band[k] < 0) continue;
            sorted = sorted && (order_.empty() || band[order_.back()] <= band[k]);
            order_.push_back(k);
        }
        if (!sorted) std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return band[a] < band[b]; });
        return {row, place, int64_t(order_.size()), order_.data()};
    }

  private:
    std::vector<int64_t> order_;
};

// Run work(object number, object, memory) on n objects.
template <class Work>
void over(const LowRankModel& in, const LowRankKernels& kernels, int64_t n, const int64_t* rows, const int64_t* places, double cost, int n_threads,
          const Work& work) {
    over_objects(n, objects_per_block(cost, 1), n_threads, [&] {
        return [&, memory = AlignedVector<double>(size_t(kernels.work(in))), ordering = Ordering()](int64_t start, int64_t stop) mutable {
            for (int64_t i = start; i < stop; ++i)
                work(i, ordering.of(in, rows ? rows[i] : i, places ? places[i] : 0), memory.data());
        };
    });
}

}  // namespace

void bind_low_rank(nb::module_& m) {
    m.attr("low_rank_most_columns") = kMostColumns;
    m.def(
        "low_rank_offset",
        [](Output out, const Matrix& residual, const Matrix& variance, const Bands& band, const Cube& shapes, const Cube& local, int n_threads,
           const std::string& level) {
            const LowRankKernels& kernels = choose(kLevels, level);
            const Given given{residual, variance, band, shapes, local};
            const LowRankModel in = given.model();
            require(int64_t(out.size()) == given.objects(), "the result does not fit residual");
            const double size = double(in.r + in.j + 1);
            over(in, kernels, given.objects(), nullptr, nullptr, double(in.p) * size * size, n_threads,
                 [&](int64_t i, const LowRankObject& object, double* memory) { out.data()[i] = kernels.offset(in, object, memory); });
        },
        written("out"), "residual"_a, "variance"_a, "band"_a, "shapes"_a, "local"_a, "n_threads"_a, "level"_a);
    m.def(
        "low_rank_filtered",
        [](Output signal, Output precision, const Matrix& residual, const Matrix& variance, const Bands& band, const Cube& shapes,
           const Cube& local, const Indices& rows, const Cube& columns, const Indices& places, int n_threads, const std::string& level) {
            const LowRankKernels& kernels = choose(kLevels, level);
            const Asked asked({residual, variance, band, shapes, local}, rows, columns, places);
            const LowRankModel& in = asked.in;
            const int64_t q = in.q;
            require(int64_t(signal.size()) == asked.n * q && int64_t(precision.size()) == asked.n * q, "the results do not fit rows");
            const double size = double(in.r + in.j + 1);
            over(in, kernels, asked.n, asked.rows, asked.places, double(in.p) * size * (size + double(q)), n_threads,
                 [&](int64_t i, const LowRankObject& object, double* memory) {
                     kernels.filtered(in, object, memory, signal.data() + i * q, precision.data() + i * q);
                 });
        },
        written("signal"), written("precision"), "residual"_a, "variance"_a, "band"_a, "shapes"_a, "local"_a, "rows"_a, "columns"_a, "places"_a,
        "n_threads"_a, "level"_a);
    m.def(
        "low_rank_gain",
        [](Output out, const Matrix& residual, const Matrix& variance, const Bands& band, const Cube& shapes, const Cube& local,
           const Indices& rows, const Cube& columns, const Indices& places, const Cube& sizes, double common, int n_threads, const std::string& level) {
            const LowRankKernels& kernels = choose(kLevels, level);
            const Asked asked({residual, variance, band, shapes, local}, rows, columns, places);
            const LowRankModel& in = asked.in;
            const int64_t count = int64_t(sizes.shape(1)), q = in.q;
            require(q <= kMostColumns, "too many columns");
            require(int64_t(sizes.shape(0)) == asked.n && int64_t(sizes.shape(2)) == q, "sizes do not fit rows and columns");
            require(int64_t(out.size()) == asked.n * count, "the result does not fit sizes");
            require(common >= 0.0 && common <= 1.0, "common must be a share");
            const double size = double(in.r + in.j + q + 1);
            over(in, kernels, asked.n, asked.rows, asked.places, double(in.p + 4 * q * count) * size * size, n_threads,
                 [&](int64_t i, const LowRankObject& object, double* memory) {
                     kernels.gain(in, object, sizes.data() + i * count * q, count, common, memory, out.data() + i * count);
                 });
        },
        written("out"), "residual"_a, "variance"_a, "band"_a, "shapes"_a, "local"_a, "rows"_a, "columns"_a, "places"_a, "sizes"_a, "common"_a,
        "n_threads"_a, "level"_a);
}

}  // namespace badac
