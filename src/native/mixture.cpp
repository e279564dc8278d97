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
#include "mixture_envelope.hpp"
#include "mixture_kernel.hpp"
#include "pair_door.hpp"

namespace badac {
namespace {

constexpr double kHalfLog2Pi = 0.91893853320467274178, kLog2E = 1.44269504088896340736;
// Curves this many nats below the best are left to single precision: 5e-5 of the sum each, known to a ten-thousandth.
constexpr double kMatters = 10.0;
// Objects that meet a tile of curves while it is in the cache, if their bounds need no more than kBoundBytes.
constexpr int64_t kObjectsPerBlock = 16, kBoundBytes = 16 << 20;
constexpr int64_t kWorthAnEnvelope = 1 << 21;  // points of pairs, a few ms: an envelope takes 1 ms
constexpr double kNearTop = 4.0;               // curves whose bound is so near the best one's, in nats, are scored first
constexpr double kSmallestVariance = 1e-8;     // in units: four of them multiplied stay within the range of a float

constexpr Levels<MixtureKernels> kLevels = BADAC_LEVELS(mixture_kernels);

struct Arrays : PairArrays {
    std::vector<double> object_factor, curve_factor, share;  // components, the widest first
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

// The curves as floats, in rows and in tiles, centred and in units of a typical error, so that single precision is spent on
// differences and variances are near 1.
struct Packed {
    int64_t n_tiles, parts, padded;
    int tile;
    std::vector<double> centre, unit, least;  // (m): least is the smallest curve variance, in units
    double low = 1.0, high = 0.0;             // the object's share of a pair's variance
    AlignedVector<float> rows, data;          // (k, parts, padded) and (tiles, m, parts, curves of a tile)

    Packed(const Arrays& in, int tile_, int lanes, Poll& poll)
        : n_tiles((in.k + tile_ - 1) / tile_), parts(in.y_sigma_shared ? 1 : 2), padded((in.m + lanes - 1) / lanes * lanes), tile(tile_), centre(size_t(in.m), 0.0), unit(size_t(in.m)),
          least(size_t(in.m)) {
        measure(in, poll);
        rows.assign(size_t(in.k * parts * padded), 0.0f);
        for (int64_t i = 0; i < in.k; ++i) {
            poll.spent(parts * in.m);
            float* row = rows.data() + i * parts * padded;
            for (int64_t j = 0; j < in.m; ++j) row[j] = float((in.y[i * in.m + j] - centre[j]) / unit[j]);
            if (parts == 1) continue;
            for (int64_t j = 0; j < in.m; ++j) {
                const double sigma = in.y_sigma[i * in.m + j] / unit[j];
                row[padded + j] = float(sigma * sigma);
            }
        }
    }

    void transpose(const Arrays& in, Poll& poll) {
        data.resize(size_t(n_tiles * in.m * parts * tile));
        float* out = data.data();
        for (int64_t t = 0; t < n_tiles; ++t) {
            poll.spent(parts * in.m * tile);
            for (int64_t j = 0; j < in.m; ++j)
                for (int64_t part = 0; part < parts; ++part)
                    for (int l = 0; l < tile; ++l) *out++ = rows[size_t((std::min(t * tile + l, in.k - 1) * parts + part) * padded + j)];
        }
    }

  private:
    void measure(const Arrays& in, Poll& poll) {
        const double infinity = std::numeric_limits<double>::infinity();
        const size_t m = size_t(in.m);
        std::vector<double> largest(m, 0.0), smallest(m, infinity), widest(m, 0.0), typical(m, 0.0);
        for (int64_t i = 0; i < in.k; ++i) {
            poll.spent(in.m);
            for (size_t j = 0; j < m; ++j) centre[j] += in.y[i * in.m + int64_t(j)];
        }
        for (double& middle : centre) middle /= double(in.k);
        for (int64_t i = 0; i < in.k; ++i) {
            poll.spent(in.m);
            for (size_t j = 0; j < m; ++j) {
                const double sigma = in.y_sigma[(in.y_sigma_shared ? 0 : i * in.m) + int64_t(j)];
                largest[j] = std::max({largest[j], std::fabs(in.y[i * in.m + int64_t(j)] - centre[j]), sigma});
                smallest[j] = std::min(smallest[j], sigma), widest[j] = std::max(widest[j], sigma);
                typical[j] += sigma / double(in.k);
            }
        }
        // The errors of the objects, as far as they are observed.
        std::vector<double> object_low(m, infinity), object_high(m, 0.0);
        for (int64_t i = 0; i < (in.d_sigma_shared ? 1 : in.n); ++i) {
            poll.spent(in.m);
            for (size_t j = 0; j < m; ++j) {
                const double sigma = in.d_sigma[i * in.m + int64_t(j)];
                if (!std::isfinite(sigma)) continue;
                object_low[j] = std::min(object_low[j], sigma), object_high[j] = std::max(object_high[j], sigma);
            }
        }
        for (size_t j = 0; j < m; ++j) {
            if (object_low[j] < infinity) {
                typical[j] = std::hypot(typical[j], object_low[j]);
                low = std::min(low, share(object_low[j], widest[j])), high = std::max(high, share(object_high[j], smallest[j]));
            }
            // A power of two, so that scaling costs no digit.
            const double size = typical[j] > 0.0 ? typical[j] : largest[j];
            unit[j] = size > 0.0 ? std::ldexp(1.0, int(std::ceil(std::log2(size)))) : 1.0;
            least[j] = (smallest[j] / unit[j]) * (smallest[j] / unit[j]);
        }
        // A hair wider: rounding, and variances of zero on both sides, which no pair may have.
        low = std::max(0.0, low - 1e-9), high = std::min(1.0, high + 1e-9);
    }
    static double share(double object, double curve) {
        const double ratio = curve / object;
        return object > 0.0 ? 1.0 / (1.0 + ratio * ratio) : 0.0;
    }
};

// One object against all curves: bounds first, tile by tile, then the scores that can matter, then those that do, in double.
class ObjectAtHand {
  public:
    ObjectAtHand(const Arrays& in, const Packed& packed, const MixtureKernels& kernels, const Envelope* envelope, int64_t object)
        : in_(in), packed_(packed), kernels_(kernels), object_(object), object_factor_(in.object_factor), curve_factor_(in.curve_factor),
          share_(in.share) {
        const double *d = in.d + object * in.m, *d_sigma = in.d_sigma + (in.d_sigma_shared ? 0 : object * in.m);
        std::vector<int32_t>& points = careful_.points;
        for (int64_t j = 0; j < in.m; ++j)
            if (std::isfinite(d[j]) && std::isfinite(d_sigma[j])) points.push_back(int32_t(j));
        for (const int32_t j : points) careful_.value.push_back(d[j]), careful_.variance.push_back(d_sigma[j] * d_sigma[j]);
        careful_.square.resize(points.size()), careful_.curve_variance.resize(points.size());
        merge_components(d_sigma);
        const int n_components = int(share_.size());
        const size_t padded = size_t(packed.padded);
        value_.assign(padded, 0.0f);
        if (in.y_sigma_shared) {
            coefficient_.assign(2 * share_.size() * padded, 0.0f);
            std::fill_n(coefficient_.begin() + std::ptrdiff_t(padded), padded, 1.0f);
        } else {
            coefficient_.assign(4 * padded, 0.0f);
            std::fill_n(coefficient_.begin(), padded, 1.0f), std::fill_n(coefficient_.begin() + std::ptrdiff_t(3 * padded), padded, 1.0f);
        }
        double log_v = 0.0, smallest = std::numeric_limits<double>::infinity(), units = 0.0;
        for (const int32_t j : points) {
            const double unit = packed.unit[j], own = d_sigma[j] / unit, a = own * own, b = packed.least[j];
            value_[size_t(j)] = float((d[j] - packed.centre[j]) / unit);
            double top = 0.0;
            for (int c = 0; c < n_components; ++c) top += share_[c] / std::sqrt(object_factor_[c] * a + curve_factor_[c] * b);
            highest_ += std::log(top / unit) - kHalfLog2Pi;
            units += std::log(unit) + kHalfLog2Pi;
            smallest = std::min(smallest, a + b);
            log_v += std::log(a + b);
            float* coefficient = coefficient_.data() + j;
            if (in.y_sigma_shared) {
                const double widest = 1.0 / (object_factor_[0] * a + curve_factor_[0] * b);
                for (int c = 0; c < n_components; ++c, coefficient += 2 * padded) {
                    const double inverse = 1.0 / (object_factor_[c] * a + curve_factor_[c] * b);
                    coefficient[0] = float(c == 0 ? -0.5 * inverse : -0.5 * kLog2E * (inverse - widest));
                    coefficient[padded] = float(share_[c] * std::sqrt(inverse) / top);
                }
            } else {
                coefficient[0] = float(a), coefficient[padded] = float(1.0 / top);
                coefficient[2 * padded] = 1.0f, coefficient[3 * padded] = 0.0f;
            }
            if (!envelope) continue;
            bound_value_.push_back(value_[size_t(j)]);
            variance_.push_back(float(in.y_sigma_shared ? envelope->rate / (a + b) : a));
        }
        if (!envelope || !(smallest > kSmallestVariance)) return;
        bounded_ = true;
        bounds_.resize(size_t(packed.n_tiles * packed.tile));
        rate_ = float(envelope->rate), power_ = float(envelope->power);
        // With a hair more for the roundings of the products and their logarithm.
        bound_constant_ = double(points.size()) * (envelope->log_height + 1e-6) - units - highest_ - (in.y_sigma_shared ? 0.5 * log_v : 0.0) + 1e-3;
    }

    void bound_tile(int64_t t) {
        if (!bounded_) return;
        const MixtureBound bound{int(careful_.points.size()), careful_.points.data(), bound_value_.data(), variance_.data(), rate_, power_};
        (in_.y_sigma_shared ? kernels_.bound_shared : kernels_.bound_own)(bound, tile(t), bounds_.data() + t * packed_.tile);
    }

    // The log evidence, when all tiles have their bounds.
    double evidence() {
        const double given_up = 19.0 + std::log(double(in_.k));  // all of them together are less than 1e-8 of the sum
        double nearest = kLowest;
        for (int64_t i = 0; bounded_ && i < in_.k; ++i) {
            bounds_[size_t(i)] = float(bound_of(i));
            nearest = std::max(nearest, double(bounds_[size_t(i)]));
        }
        // First the curves that promise most: the better the best is known, the fewer are left. A bound that is no number stands for any.
        const float near = float(nearest - kNearTop);
        score_where([&](int64_t i) { return !bounded_ || !(bounds_[size_t(i)] <= near); });
        const auto left = [&](int64_t i) { return bounds_[size_t(i)] <= near && double(bounds_[size_t(i)]) > best_ - given_up; };
        if (bounded_) score_where(left);
        return sum(given_up);
    }

  private:
    static constexpr double kLowest = -std::numeric_limits<double>::infinity();
    static constexpr float kNothing = -3e38f;
    static constexpr int kListed = 64;

    // With the same errors on both sides, widths (s, t) and (t, s) are one component.
    void merge_components(const double* d_sigma) {
        bool alike = in_.y_sigma_shared;
        for (const int32_t j : careful_.points) alike = alike && d_sigma[j] == in_.y_sigma[j];
        if (!alike) return;
        object_factor_.clear(), share_.clear();
        for (size_t c = 0; c < in_.share.size(); ++c) {
            const double factor = in_.object_factor[c] + in_.curve_factor[c];
            if (!share_.empty() && object_factor_.back() == factor)
                share_.back() += in_.share[c];
            else
                object_factor_.push_back(factor), share_.push_back(in_.share[c]);
        }
        curve_factor_.assign(share_.size(), 0.0);
    }

    const float* tile(int64_t t) const { return packed_.data.data() + t * in_.m * packed_.parts * packed_.tile; }
    double weight(int64_t i) const { return in_.skip && in_.skip[object_] == i ? kLowest : (in_.log_weights ? in_.log_weights[i] : 0.0); }
    // What a curve, weight included, can be at most; NaN where single precision does not tell.
    double bound_of(int64_t i) const {
        const double bound = double(bounds_[size_t(i)]), whole = bound + bound_constant_ + weight(i);
        return whole + 1e-6 * (std::fabs(bound) + std::fabs(whole));
    }

    template <class Wanted>
    void score_where(const Wanted& wanted) {
        const std::vector<float> fo(object_factor_.begin(), object_factor_.end()), fc(curve_factor_.begin(), curve_factor_.end()),
            fs(share_.begin(), share_.end());
        const MixtureObject seen{int(packed_.padded), value_.data(), coefficient_.data()};
        const MixtureWidths widths{int(share_.size()), fo.data(), fc.data(), fs.data()};
        int32_t list[kListed];
        float out[kListed];
        int n = 0;
        Attention attention;
        const auto score = [&] {
            attention.spent(4 * packed_.padded * widths.n_components * n);
            (in_.y_sigma_shared ? kernels_.score_shared : kernels_.score_own)(seen, widths, packed_.rows.data(), list, n, out);
            for (int l = 0; l < n; ++l) {
                // What overflowed single precision may still be the best: nothing else is better by then.
                found_.push_back({list[l], std::isnan(out[l]) ? kNothing : out[l]});
                if (!std::isnan(out[l])) best_ = std::max(best_, double(out[l]) + weight(list[l]));
            }
            n = 0;
        };
        for (int64_t i = 0; i < in_.k; ++i) {
            if (!wanted(i)) continue;
            list[n++] = int32_t(i);
            if (n == kListed) score();
        }
        if (n > 0) score();
    }

    // In double what matters, in single precision the rest.
    double sum(double given_up) {
        if (!std::isfinite(best_)) best_ = kNothing;
        const MixturePairs pairs{int(share_.size()), object_factor_.data(), curve_factor_.data(), share_.data()};
        const double margin = kMatters + 1e-5 * std::fabs(best_);
        double top = kLowest;
        std::vector<double> exact, rest;
        Attention attention;
        for (const Found& found : found_) {
            const double w = weight(found.curve), guess = double(found.score) + w;
            if (w == kLowest) continue;
            if (guess >= best_ - margin) {
                attention.spent(20 * int64_t(careful_.points.size()) * pairs.n_components);
                exact.push_back(careful_(in_, kernels_, pairs, found.curve) + w);
                top = std::max(top, exact.back());
            } else if (guess > best_ - given_up) {
                rest.push_back(guess + highest_);
            }
        }
        if (top == kLowest) return kLowest;
        double sum = 0.0;
        for (const double x : exact) sum += std::exp(x - top);
        for (const double x : rest) sum += std::exp(x - top);
        return top + std::log(sum) - (in_.log_weights ? 0.0 : std::log(double(in_.k)));
    }

    struct Found {
        int32_t curve;
        float score;
    };
    const Arrays& in_;
    const Packed& packed_;
    const MixtureKernels& kernels_;
    int64_t object_;
    std::vector<double> object_factor_, curve_factor_, share_;
    Careful careful_;
    AlignedVector<float> value_, coefficient_, bound_value_, variance_;
    double highest_ = 0.0;  // sum of the logs of the largest heights, in the caller's units
    double bound_constant_ = 0.0, best_ = kLowest;
    bool bounded_ = false;
    float rate_ = 0.0f, power_ = 1.0f;
    AlignedVector<float> bounds_;  // (k), as the kernel leaves them
    std::vector<Found> found_;
};

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
            require(in.k <= INT32_MAX, "too many curves");
            require_threads(n_threads);
            const Choice choice(in, log_weights, skip);
            const MixtureKernels& kernels = choose(kLevels, level);
            without_gil([&] {
                Poll poll(interrupted);
                Packed packed(in, kernels.tile, kernels.lanes, poll);
                Envelope found{};
                const bool worth = in.n * in.k >= kWorthAnEnvelope / in.m && packed.low <= packed.high;
                if (worth) {
                    found = envelope(in.object_factor, in.curve_factor, in.share, packed.low, packed.high);
                    packed.transpose(in, poll);
                }
                const int64_t at_once = std::clamp<int64_t>(kBoundBytes / (int64_t(sizeof(float)) * in.k), 1, kObjectsPerBlock);
                Blocks blocks((in.n + at_once - 1) / at_once, interrupted);
                blocks.run(n_threads, [&](Blocks& queue) {
                    Attention attention;
                    for (int64_t block; queue.next(block);) {
                        std::vector<ObjectAtHand> objects;
                        for (int64_t i = block * at_once; i < std::min(in.n, (block + 1) * at_once); ++i)
                            objects.emplace_back(in, packed, kernels, worth && found.rate > 0.0 ? &found : nullptr, i);
                        for (int64_t t = 0; t < packed.n_tiles; ++t)
                            for (ObjectAtHand& object : objects) {
                                attention.spent(in.m * packed.tile);
                                object.bound_tile(t);
                            }
                        for (size_t i = 0; i < objects.size(); ++i) out.data()[block * at_once + int64_t(i)] = objects[i].evidence();
                    }
                });
            });
        },
        written("out"), "d"_a, "d_sigma"_a, "y"_a, "y_sigma"_a, "object_factor"_a, "curve_factor"_a, "share"_a, "log_weights"_a.none(),
        "skip"_a.none(), "n_threads"_a, "level"_a);
}

}  // namespace badac
