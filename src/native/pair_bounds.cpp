#include "pair_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace badac {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSlack = 1e-6;  // 16 roundings of a float: what it takes to keep bounds on the safe side in single precision
constexpr int64_t kRowsForTypical = 256;

float above(double x) { return float(x + kSlack * std::fabs(x)); }
float below(double x) { return float(x - kSlack * std::fabs(x)); }

// sum of logarithms as the logarithm of products
class LogSum {
  public:
    void add(double x) {
        if (!(x > 0x1p-400 && x < 0x1p400)) {
            sum_ += std::log(x);
            return;
        }
        product_ *= x;
        if (product_ > 0x1p-400 && product_ < 0x1p400) return;
        sum_ += std::log(product_);
        product_ = 1.0;
    }
    double value() const { return sum_ + std::log(product_); }

  private:
    double sum_ = 0.0, product_ = 1.0;
};

}  // namespace

Bounds::Bounds(const PairArrays& in, const Units& units, const Directions& directions, const std::vector<Along>& curves, const CurveOrder& order,
               int64_t width, Poll& poll)
    : in_(in), units_(units), directions_(directions), n_tiles_((in.k + width - 1) / width), stride_(round_up(n_tiles_, kWidestTile) + kWidestTile) {
    const size_t size = size_t(stride_);
    low_.assign(size * kDirections, 0.0f), high_ = low_, variance_.assign(low_.size(), 1.0f), log_v_.assign(size, 0.0f), spread_ = log_v_;
    for (int64_t t = 0; t < n_tiles_; ++t)
        for (int v = 0; v < kDirections; ++v) {
            double low = kInfinity, high = -kInfinity, variance = 0.0;
            for (int64_t place = t * width; place < std::min(in.k, (t + 1) * width); ++place) {
                const Along& along = curves[size_t(order.curve(place))];
                low = std::min(low, along.value[v] - along.rounding), high = std::max(high, along.value[v] + along.rounding);
                variance = std::max(variance, along.variance[v]);
            }
            const size_t at = size_t(v * stride_ + t);
            low_[at] = below(low), high_[at] = above(high), variance_[at] = above(variance);
        }
    if (!in.y_sigma_shared) add_log_variances(order, width, poll);
}

void Bounds::add_log_variances(const CurveOrder& order, int64_t width, Poll& poll) {
    const int64_t m = in_.m, rows = std::min(in_.k, kRowsForTypical), step = in_.k / rows;
    const auto variance = [this, m](int64_t curve, int64_t j) {
        const double s = in_.y_sigma[curve * m + j] * units_.down[size_t(j)], narrow = units_.narrow[size_t(j)];
        return (s * s + units_.extra[size_t(j)]) * narrow * narrow;
    };
    typical_.assign(size_t(m), 0.0);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < m; ++j) typical_[size_t(j)] += variance(r * step, j) / double(rows);
    for (int64_t t = 0; t < n_tiles_; ++t) {
        double log_v = kInfinity, spread = 0.0;
        for (int64_t place = t * width; place < std::min(in_.k, (t + 1) * width); ++place) {
            poll.spent(8 * m);
            const int64_t curve = order.curve(place);
            LogSum logs;
            double squares = 0.0;
            for (int64_t j = 0; j < m; ++j) {
                const double x = variance(curve, j) / typical_[size_t(j)];
                logs.add(x);
                squares += x + 1.0 / x - 2.0;
            }
            // Not a number where no curve of the sample has a variance: nothing is known then but the floor.
            const double sum = logs.value();
            log_v = std::isfinite(sum) && std::isfinite(squares) ? std::min(log_v, sum) : -kInfinity;
            if (log_v == -kInfinity) break;
            spread = std::max(spread, squares);
        }
        log_v_[size_t(t)] = log_v == -kInfinity ? -std::numeric_limits<float>::infinity() : below(log_v);
        spread_[size_t(t)] = above(std::sqrt(std::max(spread, 0.0)) + 1e-6);
    }
}

ObjectBounds Bounds::object(int64_t object, double log_v_floor) const {
    const Along along = directions_.of_object(object);
    ObjectBounds out{};
    for (int v = 0; v < kDirections; ++v) {
        // A float at the edge of a tile is a rounding of its own size off, and the tile's edges are at most that much smaller than it.
        out.low[v] = below(along.value[v] - along.rounding), out.high[v] = above(along.value[v] + along.rounding);
        out.variance[v] = above(along.variance[v]);
    }
    if (typical_.empty()) return out;
    LogSum logs;
    double sum = 0.0, squares = 0.0;
    for (int64_t j = 0; j < in_.m; ++j) {
        const double s = in_.d_sigma[(in_.d_sigma_shared ? 0 : object * in_.m) + j] * units_.down[size_t(j)], narrow = units_.narrow[size_t(j)];
        const double v = s * s * narrow * narrow + typical_[size_t(j)], w = typical_[size_t(j)] / v;
        logs.add(v);
        sum += w;
        squares += w * w;
    }
    const double m = double(in_.m), mean = sum / m, log_v = logs.value();
    out.floor = below(log_v_floor);
    out.log_v = std::isfinite(log_v) ? below(log_v) : -std::numeric_limits<float>::infinity();
    out.share = float(mean);
    // `share` in single precision is another mean: the norm around it is larger by no more than its rounding at every point.
    out.spread = above(std::sqrt(std::max(squares - m * mean * mean, 0.0)) + kSlack * std::sqrt(m));
    return out;
}

TileBounds Bounds::tiles() const { return {low_.data(), high_.data(), variance_.data(), log_v_.data(), spread_.data(), stride_}; }

}  // namespace badac
