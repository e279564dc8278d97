#include "pair_units.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace badac {
namespace {

constexpr int64_t kSample = 65;  // enough for a typical sigma
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double median(std::vector<double>& values) {
    if (values.empty()) return 0.0;
    auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Median of |sigma| at a point over a sample of rows that have it.
double typical_sigma(const double* sigma, const double* value, bool shared, int64_t rows, int64_t m, int64_t point) {
    std::vector<double> sample;
    const int64_t step = std::max<int64_t>(1, rows / kSample);
    for (int64_t row = 0; row < rows; row += step) {
        const double s = std::fabs(sigma[shared ? point : row * m + point]);
        if (std::isfinite(s) && std::isfinite(value[row * m + point])) sample.push_back(s);
    }
    return median(sample);
}

}  // namespace

Units::Units(const PairArrays& in, Poll& poll) : padded((in.m + kRowStep - 1) / kRowStep * kRowStep) {
    const size_t m = size_t(in.m);
    std::vector<double> s_low(m, kInfinity), s_high(m, 0.0);
    y_low.assign(m, kInfinity);
    y_high.assign(m, -kInfinity);
    for (int64_t c = 0; c < in.k; ++c) {
        const double* y = in.y + c * in.m;
        poll.spent(in.m);
        for (size_t j = 0; j < m; ++j) {
            y_low[j] = y[j] < y_low[j] ? y[j] : y_low[j];
            y_high[j] = y[j] > y_high[j] ? y[j] : y_high[j];
        }
    }
    for (int64_t c = 0; c < (in.y_sigma_shared ? 1 : in.k); ++c) {
        const double* s = in.y_sigma + c * in.m;
        poll.spent(in.m);
        for (size_t j = 0; j < m; ++j) {
            const double size = std::fabs(s[j]);
            s_low[j] = size < s_low[j] ? size : s_low[j];
            s_high[j] = size > s_high[j] ? size : s_high[j];
        }
    }

    for (auto* column : {&down, &extra, &b_low, &b_high, &centre, &narrow, &log2_narrow2, &reach}) column->resize(m);
    exponent.resize(m);
    for (size_t j = 0; j < m; ++j) {
        poll.spent(8 * kSample);  // scattered over memory
        const double object_sigma = typical_sigma(in.d_sigma, in.d, in.d_sigma_shared, in.n, in.m, int64_t(j));
        const double curve_sigma = typical_sigma(in.y_sigma, in.y, in.y_sigma_shared, in.k, in.m, int64_t(j));
        double unit = std::hypot(std::hypot(object_sigma, curve_sigma), std::sqrt(in.extra[j]));
        if (!(unit > 0.0) || !std::isfinite(unit)) unit = 1.0;
        exponent[j] = std::clamp(int(std::lround(std::log2(unit))), -1000, 1000);
        down[j] = std::ldexp(1.0, -exponent[j]);
        extra[j] = in.extra[j] * down[j] * down[j];
        y_low[j] *= down[j];
        y_high[j] *= down[j];
        b_low[j] = (s_low[j] * down[j]) * (s_low[j] * down[j]) + extra[j];
        b_high[j] = (s_high[j] * down[j]) * (s_high[j] * down[j]) + extra[j];
        centre[j] = 0.5 * y_low[j] + 0.5 * y_high[j];
        narrow[j] = std::clamp(1.0 / (unit * down[j]), 0.5, 2.0);
        log2_narrow2[j] = 2.0 * std::log2(narrow[j]);
        reach[j] = std::max(y_high[j] - centre[j], centre[j] - y_low[j]) * narrow[j];
    }
    if (in.log_weights) max_log_weight = *std::max_element(in.log_weights, in.log_weights + in.k);
}

double careful_log_match(const PairArrays& in, int64_t object, int64_t curve) {
    const double log_2pi = 1.8378770664093454836;
    double sum = 0.0;
    for (int64_t j = 0; j < in.m; ++j) {
        const double d = in.d[object * in.m + j], d_sigma = in.d_sigma[in.d_sigma_shared ? j : object * in.m + j];
        if (!std::isfinite(d) || !std::isfinite(d_sigma)) continue;
        const double y = in.y[curve * in.m + j], y_sigma = in.y_sigma[in.y_sigma_shared ? j : curve * in.m + j];
        const double sigma = std::hypot(std::hypot(d_sigma, y_sigma), std::sqrt(in.extra[j]));
        if (sigma == 0.0) throw ZeroVariance{object, curve, j};
        double z = (d - y) / sigma;
        if (!std::isfinite(z)) z = (0.5 * d - 0.5 * y) / sigma * 2.0;  // d - y itself was too large
        sum += z * z + 2.0 * std::log(sigma) + log_2pi;
    }
    return -0.5 * sum;
}

}  // namespace badac
