// Log evidence under noise of several Gaussian widths: single precision for all curves, double for those that matter.
// Twin: mixture_logsumexp in badac/_kernels/mixture.py. Shapes are checked in badac/_kernels/arguments.py.
#include "mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "heed.hpp"
#include "mixture_kernel.hpp"
#include "pair_door.hpp"
#include "pair_order.hpp"

namespace badac {
namespace {

constexpr double kHalfLog2Pi = 0.91893853320467274178, kLog2E = 1.44269504088896340736;
// Curves this many nats below the best are left to single precision: 5e-5 of the sum each, known to a ten-thousandth.
constexpr double kMatters = 10.0;
constexpr int64_t kObjectsPerBlock = 16, kObjectsToSortFor = 64;

constexpr Levels<MixtureKernels> kLevels = BADAC_LEVELS(mixture_kernels);

struct Arrays : PairArrays {
    std::vector<double> object_factor, curve_factor, share;  // components, the widest first
};

// The curves in an order that puts similar ones side by side, and points far apart first (neighbours tell the same): tiles of
// curves that cannot match are then given up after a few points.
struct Sorted {
    std::vector<double> d, d_sigma, y, y_sigma, log_weights, extra;
    std::vector<int64_t> skip;

    Sorted(Arrays& in, int tile, Poll& poll) : extra(size_t(in.m), 0.0) {
        if (in.n < kObjectsToSortFor) return;
        PairArrays pairs = in;
        pairs.extra = extra.data(), pairs.log_weights = nullptr, pairs.skip = nullptr;
        const int64_t sample = (std::clamp<int64_t>(in.k / 16, 1, 512) + tile - 1) / tile * tile;
        if (in.k < 4 * std::max<int64_t>(sample, tile) || in.k > INT32_MAX) return;
        const Units units(pairs, poll);
        const Directions directions(pairs, units, poll);
        std::vector<Along> along;
        for (int64_t i = 0; i < in.k; ++i) {
            poll.spent(2 * kDirections * in.m);
            along.push_back(directions.of_curve(i));
        }
        const std::vector<int32_t> curves = spread_first(similar_together(along, tile, poll), sample);
        const std::vector<int32_t> points = scattered(in.m), one{0};
        std::vector<int32_t> objects(static_cast<size_t>(in.n));
        std::iota(objects.begin(), objects.end(), 0);
        d = taken(in.d, objects, points, poll), in.d = d.data();
        d_sigma = taken(in.d_sigma, in.d_sigma_shared ? one : objects, points, poll), in.d_sigma = d_sigma.data();
        y = taken(in.y, curves, points, poll), in.y = y.data();
        y_sigma = taken(in.y_sigma, in.y_sigma_shared ? one : curves, points, poll), in.y_sigma = y_sigma.data();
        if (in.log_weights) log_weights = taken(in.log_weights, curves, one, poll), in.log_weights = log_weights.data();
        if (in.skip) {
            std::vector<int64_t> place(curves.size());
            for (size_t i = 0; i < curves.size(); ++i) place[size_t(curves[i])] = int64_t(i);
            for (int64_t i = 0; i < in.n; ++i) skip.push_back(in.skip[i] < 0 ? -1 : place[size_t(in.skip[i])]);
            in.skip = skip.data();
        }
    }

    static std::vector<int32_t> scattered(int64_t m) {
        int64_t step = std::max<int64_t>(1, int64_t(0.618 * double(m)));
        while (std::gcd(step, m) > 1) ++step;
        std::vector<int32_t> out;
        for (int64_t j = 0; j < m; ++j) out.push_back(int32_t(j * step % m));
        return out;
    }
    static std::vector<double> taken(const double* from, const std::vector<int32_t>& rows, const std::vector<int32_t>& columns,
                                     Poll& poll) {
        std::vector<double> out;
        out.reserve(rows.size() * columns.size());
        for (const int32_t row : rows) {
            poll.spent(int64_t(columns.size()));
            for (const int32_t column : columns) out.push_back(from[int64_t(row) * int64_t(columns.size()) + column]);
        }
        return out;
    }
};

// The observed points of an object in double, and the components of its pairs.
struct Careful {
    std::vector<int32_t> points;
    std::vector<double> value, variance, square, curve_variance;  // (points), the last two for the curve that is asked about

    // The log density of a single pair; the whole vectors of points by the kernel, the others here.
    double operator()(const Arrays& in, const MixtureKernels& kernels, const MixturePairs& pairs, int64_t curve) {
        const double* y = in.y + curve * in.m;
        const double* sigma = in.y_sigma + (in.y_sigma_shared ? 0 : curve * in.m);
        const int n = int(points.size());
        for (int i = 0; i < n; ++i) {
            const double r = value[i] - y[points[i]], own = sigma[points[i]];
            square[i] = -0.5 * r * r, curve_variance[i] = own * own;
        }
        const int whole = n / kernels.double_lanes * kernels.double_lanes;
        double total = kernels.careful(pairs, whole, square.data(), variance.data(), curve_variance.data()), product = 1.0;
        for (int i = whole; i < n; ++i) {
            double widest = 0.0, bracket = 0.0;
            for (int c = 0; c < pairs.n_components; ++c) {
                const double inverse = 1.0 / (pairs.object_factor[c] * variance[i] + pairs.curve_factor[c] * curve_variance[i]);
                const double height = pairs.share[c] * std::sqrt(inverse);
                if (c == 0)
                    widest = inverse, bracket = height;
                else
                    bracket += height * std::exp(square[i] * (inverse - widest));
            }
            total += square[i] * widest;
            product *= bracket;
            if (product < 1e-200 || product > 1e200) total += std::log(product), product = 1.0;
        }
        return total + std::log(product) - n * kHalfLog2Pi;
    }
};

// The curves in tiles of floats, centred and in units of their spread, so that single precision is spent on differences.
struct Packed {
    int64_t n_tiles;
    int tile;
    std::vector<double> centre, unit, least;  // (m): least is the smallest curve variance, in units
    AlignedVector<float> data;

    Packed(const Arrays& in, int tile_, Poll& poll)
        : n_tiles((in.k + tile_ - 1) / tile_), tile(tile_), centre(size_t(in.m), 0.0), unit(size_t(in.m)), least(size_t(in.m)) {
        std::vector<double> largest(size_t(in.m), 0.0), smallest(size_t(in.m), std::numeric_limits<double>::infinity());
        for (int64_t i = 0; i < in.k; ++i) {
            poll.spent(in.m);
            for (int64_t j = 0; j < in.m; ++j) centre[j] += in.y[i * in.m + j];
        }
        for (double& middle : centre) middle /= double(in.k);
        for (int64_t i = 0; i < in.k; ++i) {
            poll.spent(in.m);
            for (int64_t j = 0; j < in.m; ++j) {
                const double sigma = in.y_sigma[in.y_sigma_shared ? j : i * in.m + j];
                largest[j] = std::max({largest[j], std::fabs(in.y[i * in.m + j] - centre[j]), sigma});
                smallest[j] = std::min(smallest[j], sigma);
            }
        }
        for (int64_t j = 0; j < in.m; ++j) {
            // A power of two, so that scaling costs no digit.
            unit[j] = largest[j] > 0.0 ? std::ldexp(1.0, int(std::ceil(std::log2(largest[j])))) : 1.0;
            least[j] = (smallest[j] / unit[j]) * (smallest[j] / unit[j]);
        }
        const int64_t rows = in.y_sigma_shared ? 1 : 2;
        data.assign(size_t(n_tiles * in.m * rows * tile), 0.0f);
        for (int64_t t = 0; t < n_tiles; ++t) {
            poll.check();
            for (int64_t j = 0; j < in.m; ++j)
                for (int l = 0; l < tile; ++l) {
                    const int64_t i = std::min(t * tile + l, in.k - 1);
                    float* at = data.data() + ((t * in.m + j) * rows) * tile + l;
                    at[0] = float((in.y[i * in.m + j] - centre[j]) / unit[j]);
                    if (!in.y_sigma_shared) {
                        const double sigma = in.y_sigma[i * in.m + j] / unit[j];
                        at[tile] = float(sigma * sigma);
                    }
                }
        }
    }
};

double evidence(const Arrays& in, const Packed& packed, const MixtureKernels& kernels, int64_t object, std::vector<float>& scores) {
    Attention attention;
    const double* d = in.d + object * in.m;
    const double* d_sigma = in.d_sigma + (in.d_sigma_shared ? 0 : object * in.m);
    Careful careful;
    std::vector<int32_t>& points = careful.points;
    for (int64_t j = 0; j < in.m; ++j)
        if (std::isfinite(d[j]) && std::isfinite(d_sigma[j])) points.push_back(int32_t(j));
    for (const int32_t j : points) careful.value.push_back(d[j]), careful.variance.push_back(d_sigma[j] * d_sigma[j]);
    careful.square.resize(points.size()), careful.curve_variance.resize(points.size());
    // With the same errors on both sides, widths (s, t) and (t, s) are one component.
    bool alike = in.y_sigma_shared;
    for (const int32_t j : points) alike = alike && d_sigma[j] == in.y_sigma[j];
    std::vector<double> object_factor = in.object_factor, curve_factor = in.curve_factor, share = in.share;
    if (alike) {
        object_factor.clear(), share.clear();
        for (size_t c = 0; c < in.share.size(); ++c) {
            const double factor = in.object_factor[c] + in.curve_factor[c];
            if (!share.empty() && object_factor.back() == factor)
                share.back() += in.share[c];
            else
                object_factor.push_back(factor), share.push_back(in.share[c]);
        }
        curve_factor.assign(share.size(), 0.0);
    }
    const int n_components = int(share.size());
    std::vector<float> value, coefficient;
    double highest = 0.0;  // sum of the logs of the largest heights, in the caller's units
    for (const int32_t j : points) {
        const double unit = packed.unit[j], own = d_sigma[j] / unit, a = own * own, b = packed.least[j];
        value.push_back(float((d[j] - packed.centre[j]) / unit));
        double top = 0.0;
        for (int c = 0; c < n_components; ++c) top += share[c] / std::sqrt(object_factor[c] * a + curve_factor[c] * b);
        highest += std::log(top / unit) - kHalfLog2Pi;
        if (in.y_sigma_shared) {
            const double widest = 1.0 / (object_factor[0] * a + curve_factor[0] * b);
            for (int c = 0; c < n_components; ++c) {
                const double inverse = 1.0 / (object_factor[c] * a + curve_factor[c] * b);
                coefficient.push_back(float(c == 0 ? -0.5 * inverse : -0.5 * kLog2E * (inverse - widest)));
                coefficient.push_back(float(share[c] * std::sqrt(inverse) / top));
            }
        } else {
            coefficient.push_back(float(a)), coefficient.push_back(float(1.0 / top));
        }
    }
    std::vector<float> fo(object_factor.begin(), object_factor.end()), fc(curve_factor.begin(), curve_factor.end()),
        fs(share.begin(), share.end());
    const MixturePairs pairs{n_components, object_factor.data(), curve_factor.data(), share.data()};
    const MixtureObject seen{int(points.size()), points.data(), value.data(), coefficient.data()};
    const MixtureWidths widths{n_components, fo.data(), fc.data(), fs.data()};
    const int64_t rows = in.y_sigma_shared ? 1 : 2, skip = in.skip ? in.skip[object] : -1;
    const double lowest = -std::numeric_limits<double>::infinity();
    auto weight = [&](int64_t i) { return i == skip ? lowest : (in.log_weights ? in.log_weights[i] : 0.0); };
    double heaviest = 0.0;
    if (in.log_weights) heaviest = *std::max_element(in.log_weights, in.log_weights + in.k);
    const double given_up = 19.0 + std::log(double(in.k));
    double best = lowest;
    scores.resize(size_t(packed.n_tiles * packed.tile));
    for (int64_t t = 0; t < packed.n_tiles; ++t) {
        attention.spent(4 * int64_t(points.size()) * n_components + 1);
        float* out = scores.data() + t * packed.tile;
        // Given up, whatever their weight: all of them together are less than 1e-8 of the sum.
        const double cut = std::isfinite(best) ? best - heaviest - given_up : -3e38;
        const auto score = in.y_sigma_shared ? kernels.score_shared : kernels.score_own;
        const bool whole = score(seen, widths, packed.data.data() + t * in.m * rows * packed.tile, float(std::max(cut, -3e38)), out);
        for (int l = 0; l < packed.tile && t * packed.tile + l < in.k; ++l) {
            if (!whole || std::isnan(out[l])) {
                // What overflowed single precision may still be the best: nothing else is better by then.
                if (std::isnan(out[l])) out[l] = -3e38f;
                continue;
            }
            best = std::max(best, double(out[l]) + weight(t * packed.tile + l));
        }
    }
    if (!std::isfinite(best)) best = -3e38;
    // Twice over: the sum in double of what matters, and in single precision of the rest.
    const double margin = kMatters + 1e-5 * std::fabs(best);
    double top = lowest;
    std::vector<double> exact;
    std::vector<double> rest;
    for (int64_t i = 0; i < in.k; ++i) {
        attention.spent(1);
        const double w = weight(i);
        if (w == lowest) continue;
        const double guess = double(scores[size_t(i)]) + w;
        if (guess >= best - margin) {
            attention.spent(20 * int64_t(points.size()) * n_components);
            exact.push_back(careful(in, kernels, pairs, i) + w);
            top = std::max(top, exact.back());
        } else if (guess > best - given_up) {
            rest.push_back(guess + highest);
        }
    }
    if (top == lowest) return lowest;
    double sum = 0.0;
    for (const double x : exact) sum += std::exp(x - top);
    for (const double x : rest) sum += std::exp(x - top);
    return top + std::log(sum) - (in.log_weights ? 0.0 : std::log(double(in.k)));
}

}  // namespace

void bind_mixture(nb::module_& m) {
    m.def(
        "mixture_logsumexp",
        [](Output out, const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma, const Vector& object_factor,
           const Vector& curve_factor, const Vector& share, const nb::object& log_weights, const nb::object& skip, int n_threads,
           const std::string& level) {
            Arrays in{pair_arrays(d, d_sigma, y, y_sigma), {}, {}, {}};
            require(out.size() == size_t(in.n), "out does not fit d");
            const size_t n_components = share.shape(0);
            require(n_components >= 1 && object_factor.shape(0) == n_components && curve_factor.shape(0) == n_components,
                    "the components do not fit");
            in.object_factor.assign(object_factor.data(), object_factor.data() + n_components);
            in.curve_factor.assign(curve_factor.data(), curve_factor.data() + n_components);
            in.share.assign(share.data(), share.data() + n_components);
            require_threads(n_threads);
            const Choice choice(in, log_weights, skip);
            const MixtureKernels& kernels = choose(kLevels, level);
            without_gil([&] {
                Poll poll(interrupted);
                const Sorted sorted(in, kernels.tile, poll);
                const Packed packed(in, kernels.tile, poll);
                Blocks blocks((in.n + kObjectsPerBlock - 1) / kObjectsPerBlock, interrupted);
                blocks.run(n_threads, [&](Blocks& queue) {
                    std::vector<float> scores;
                    for (int64_t block; queue.next(block);)
                        for (int64_t i = block * kObjectsPerBlock; i < std::min(in.n, (block + 1) * kObjectsPerBlock); ++i)
                            out.data()[i] = evidence(in, packed, kernels, i, scores);
                });
            });
        },
        written("out"), "d"_a, "d_sigma"_a, "y"_a, "y_sigma"_a, "object_factor"_a, "curve_factor"_a, "share"_a, "log_weights"_a.none(),
        "skip"_a.none(), "n_threads"_a, "level"_a);
}

}  // namespace badac
