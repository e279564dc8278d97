// Curves of several classes, and mixtures at every point, in single precision: packing, and the walk over objects. Twin:
// badac/_kernels/single.py.
#include "single.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "single_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<SingleKernels> kLevels = BADAC_LEVELS(single_kernels);
constexpr double kLog2Pi = 1.83787706640934548356;
// In units of a point: eight variances multiply to less than 2^96, and eight fractions add up to less than 2^120.
constexpr double kLeastVariance = 1.0 / 4096.0, kMostVariance = 2048.0, kFarthest = 16384.0;
// Mixtures: nothing is multiplied there.
constexpr double kPlainLeast = 1e-12, kPlainMost = 1e12, kPlainFarthest = 1e6;
constexpr float kNoScore = -1e30f;
constexpr int64_t kBlock = 16;  // objects that meet curves or mixtures while these are in the cache

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Curves in tiles, in the units of their mean variance at each point.
struct Curves {
    SingleCurves in{};
    AlignedVector<float> tiles, spare;
    std::vector<int64_t> first;
    std::vector<double> log_count, centre, unit;
    bool in_reach = true;

    Curves(const Matrix& y, const Matrix& u, const Indices& starts, const SingleKernels& kernels) {
        const int64_t k = int64_t(y.shape(0)), m = int64_t(y.shape(1)), tile = kernels.tile;
        const int classes = small(starts.shape(0) - 1, "too many classes");
        centre.assign(size_t(m), 0.0), unit.assign(size_t(m), 0.0);
        for (int64_t i = 0; i < k; ++i)
            for (int64_t j = 0; j < m; ++j) centre[size_t(j)] += y.data()[i * m + j] / double(k), unit[size_t(j)] += u.data()[i * m + j] / double(k);
        for (double& each : unit) each = 1.0 / std::sqrt(each);
        first.push_back(0);
        for (int c = 0; c < classes; ++c) {
            const int64_t count = starts.data()[c + 1] - starts.data()[c];
            first.push_back(first.back() + rounded_up(count, kernels.lanes)), log_count.push_back(std::log(double(count)));
        }
        const int64_t padded = rounded_up(first.back(), tile);
        tiles.assign(size_t(padded * m * 3), 0.0f), spare.assign(size_t(padded), kNoScore);
        for (int64_t t = 0; t < padded / tile; ++t)
            for (int64_t j = 0; j < m; ++j) std::fill_n(tiles.data() + ((t * m + j) * 3 + 2) * tile, tile, 1.0f);
        for (int c = 0; c < classes; ++c)
            for (int64_t i = starts.data()[c]; i < starts.data()[c + 1]; ++i) {
                const int64_t place = first[size_t(c)] + i - starts.data()[c];
                spare[size_t(place)] = 0.0f;
                for (int64_t j = 0; j < m; ++j) {
                    const double scale = unit[size_t(j)], value = (y.data()[i * m + j] - centre[size_t(j)]) * scale, own = u.data()[i * m + j] * scale * scale;
                    in_reach = in_reach && std::abs(value) <= kFarthest && own >= kLeastVariance && own <= kMostVariance;
                    float* row = tiles.data() + (place / tile * m + j) * 3 * tile + place % tile;
                    row[0] = float(value), row[tile] = float(value - double(row[0])), row[2 * tile] = float(own);
                }
            }
        in = {m, padded, classes, tiles.data(), spare.data(), first.data(), log_count.data()};
    }
};

// The Gaussians at every point, in units of the mean variance there.
struct Mixtures {
    SingleMixtures in{};
    AlignedVector<float> rows;
    std::vector<char> plain;
    std::vector<double> centre, unit, log_unit;

    Mixtures(const Cube& y, const Cube& u, const Cube& w, const SingleKernels& kernels) {
        const int classes = small(y.shape(0), "too many classes"), lanes = kernels.lanes;
        const int64_t m = int64_t(y.shape(1)), g = int64_t(y.shape(2)), count = classes * m, padded = rounded_up(count, lanes);
        rows.assign(size_t(padded * 4 * g), 0.0f);
        for (int64_t place = 0; place < padded; ++place)
            for (int64_t a = 0; a < g; ++a) row_of(place, a, lanes, g)[2 * lanes] = 1.0f;
        for (int64_t place = 0; place < count; ++place) {
            const double *values = y.data() + place * g, *variance = u.data() + place * g, *log_weights = w.data() + place * g;
            double middle = 0.0, mean = 0.0, counted = 0.0;
            for (int64_t a = 0; a < g; ++a)
                if (std::isfinite(log_weights[a])) middle += values[a], mean += variance[a], counted += 1.0;
            middle /= counted, mean /= counted;
            const double scale = 1.0 / std::sqrt(mean);
            bool reaches = std::isfinite(scale) && scale > 0.0 && std::isfinite(middle);
            for (int64_t a = 0; a < g && reaches; ++a) {
                if (log_weights[a] == -std::numeric_limits<double>::infinity()) continue;
                const double value = (values[a] - middle) * scale, own = variance[a] * scale * scale;
                reaches = std::abs(value) <= kPlainFarthest && own >= kPlainLeast && own <= kPlainMost && log_weights[a] <= 0.0;
                float* row = row_of(place, a, lanes, g);
                row[0] = float(value), row[lanes] = float(value - double(row[0])), row[2 * lanes] = float(own);
                row[3 * lanes] = float(std::exp(log_weights[a]));
            }
            plain.push_back(reaches), centre.push_back(middle), unit.push_back(scale), log_unit.push_back(-std::log(scale));
        }
        in = {m, g, padded, classes, rows.data(), plain.data(), centre.data(), unit.data(), log_unit.data(), y.data(), u.data(), w.data()};
    }

  private:
    // The four numbers of one Gaussian, `lanes` apart.
    float* row_of(int64_t place, int64_t a, int lanes, int64_t g) { return rows.data() + (place / lanes * g + a) * 4 * lanes + place % lanes; }
};

// The object in the units of the curves; false where it is out of reach.
bool brought(const Curves& curves, const double* values, const double* variance, int64_t* at, float* high, float* low, float* own,
             SingleObject& object, double& constant) {
    int64_t count = 0;
    constant = 0.0;
    for (int64_t j = 0; j < curves.in.m; ++j) {
        if (!std::isfinite(variance[j])) continue;
        const double scale = curves.unit[size_t(j)], value = (values[j] - curves.centre[size_t(j)]) * scale, its = variance[j] * scale * scale;
        if (!(std::abs(value) <= kFarthest && its <= kMostVariance)) return false;
        at[count] = j, high[count] = float(value), low[count] = float(value - double(float(value))), own[count] = float(its);
        constant += std::log(scale) - 0.5 * kLog2Pi, ++count;
    }
    object.count = count, object.at = at, object.high = high, object.low = low, object.variance = own;
    return true;
}

}  // namespace

void bind_single(nb::module_& m) {
    m.def(
        "curves_log_sums",
        [](Output out, const Matrix& values, const Matrix& variance, const Matrix& y, const Matrix& u, const Indices& first, int n_threads,
           const std::string& level) {
            const SingleKernels& kernels = choose(kLevels, level);
            const int64_t n = int64_t(values.shape(0)), points = int64_t(values.shape(1)), k = int64_t(y.shape(0));
            require(variance.shape(0) == values.shape(0) && variance.shape(1) == values.shape(1), "variance does not fit values");
            require(int64_t(y.shape(1)) == points && u.shape(0) == y.shape(0) && u.shape(1) == y.shape(1), "the curves do not fit values");
            require(first.shape(0) >= 2 && first.data()[0] == 0 && first.data()[first.shape(0) - 1] == k, "first does not fit the curves");
            for (size_t c = 0; c + 1 < first.shape(0); ++c) require(first.data()[c] < first.data()[c + 1], "a class has no curve");
            const int64_t classes = int64_t(first.shape(0)) - 1;
            require(out.size() == size_t(n * classes), "out does not fit values and first");
            const Curves curves(y, u, first, kernels);
            over_objects(n, kBlock, n_threads, [&] {
                return [&, at = std::vector<int64_t>(size_t(kBlock * points)), parts = AlignedVector<float>(size_t(3 * kBlock * points)),
                        work = AlignedVector<float>(size_t(kBlock * curves.in.padded))](int64_t start, int64_t end) mutable {
                    SingleObject objects[kBlock];
                    double constant[kBlock];
                    float reference[kBlock];
                    int64_t reached = 0;
                    for (int64_t i = start; i < end; ++i) {
                        float* high = parts.data() + 3 * reached * points;
                        objects[reached].out = out.data() + i * classes;
                        if (curves.in_reach && brought(curves, values.data() + i * points, variance.data() + i * points, at.data() + reached * points,
                                                       high, high + points, high + 2 * points, objects[reached], constant[reached]))
                            ++reached;
                        else
                            std::fill_n(out.data() + i * classes, classes, std::numeric_limits<double>::quiet_NaN());
                    }
                    kernels.curves(curves.in, objects, reached, work.data(), reference);
                    for (int64_t i = 0; i < reached; ++i)
                        for (int64_t c = 0; c < classes; ++c) objects[i].out[c] += constant[i];
                };
            });
        },
        written("out"), "values"_a, "variance"_a, "y"_a, "u"_a, "first"_a, "n_threads"_a, "level"_a);
    m.def(
        "points_log_sums",
        [](Output out, const Matrix& values, const Matrix& variance, const Cube& y, const Cube& u, const Cube& log_weights, int n_threads,
           const std::string& level) {
            const SingleKernels& kernels = choose(kLevels, level);
            const int64_t n = int64_t(values.shape(0)), points = int64_t(values.shape(1)), classes = int64_t(y.shape(0));
            require(variance.shape(0) == values.shape(0) && variance.shape(1) == values.shape(1), "variance does not fit values");
            require(classes >= 1 && int64_t(y.shape(1)) == points && y.shape(2) >= 1, "the mixtures do not fit values");
            for (int a = 0; a < 3; ++a)
                require(u.shape(a) == y.shape(a) && log_weights.shape(a) == y.shape(a), "the mixtures do not fit each other");
            require(out.size() == size_t(n * classes), "out does not fit values and the mixtures");
            const Mixtures mixtures(y, u, log_weights, kernels);
            over_objects(n, kBlock, n_threads, [&] {
                return [&, work = AlignedVector<float>(size_t(4 * kBlock * mixtures.in.padded))](int64_t start, int64_t end) mutable {
                    kernels.points(mixtures.in, values.data() + start * points, variance.data() + start * points, end - start, work.data(),
                                   out.data() + start * classes);
                };
            });
        },
        written("out"), "values"_a, "variance"_a, "y"_a, "u"_a, "log_weights"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
