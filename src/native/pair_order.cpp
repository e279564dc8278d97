#include "pair_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace badac {
namespace {

constexpr int kDirections = 4, kIterations = 6;
constexpr int64_t kRowsForDirections = 256;

class Directions {
  public:
    Directions(const PairArrays& in, const Units& units, Poll& poll) : in_(in), units_(units), mean_(size_t(in.m), 0.0), basis_(size_t(kDirections * in.m)) {
        const int64_t rows = std::min(in.k, kRowsForDirections), step = in.k / rows;
        std::vector<double> sample(size_t(rows * in.m));
        for (int64_t r = 0; r < rows; ++r) {
            poll.spent(in.m);
            for (int64_t j = 0; j < in.m; ++j) {
                sample[size_t(r * in.m + j)] = value(r * step, j);
                mean_[size_t(j)] += sample[size_t(r * in.m + j)] / double(rows);
            }
        }
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t j = 0; j < in.m; ++j) sample[size_t(r * in.m + j)] -= mean_[size_t(j)];
        // Orthogonal iteration, begun from rows of the sample.
        for (int v = 0; v < kDirections; ++v)
            std::copy_n(&sample[size_t(v * (rows / kDirections) * in.m)], in.m, &basis_[size_t(v * in.m)]);
        orthonormalise();
        std::vector<double> next(basis_.size());
        for (int iteration = 0; iteration < kIterations; ++iteration) {
            std::fill(next.begin(), next.end(), 0.0);
            for (int64_t r = 0; r < rows; ++r)
                for (int v = 0; v < kDirections; ++v) {
                    poll.spent(2 * in.m);
                    const double* row = &sample[size_t(r * in.m)];
                    const double along = dot(row, &basis_[size_t(v * in.m)]);
                    for (int64_t j = 0; j < in.m; ++j) next[size_t(v * in.m + j)] += along * row[j];
                }
            basis_ = next;
            orthonormalise();
        }
        for (int v = 0; v < kDirections; ++v) offset_[v] = dot(mean_.data(), &basis_[size_t(v * in.m)]);
    }

    void project(int64_t curve, float* out) const {
        for (int v = 0; v < kDirections; ++v) {
            double along = -offset_[v];
            for (int64_t j = 0; j < in_.m; ++j) along += value(curve, j) * basis_[size_t(v * in_.m + j)];
            out[v] = float(along);
        }
    }

  private:
    double value(int64_t curve, int64_t j) const {
        const double z = (in_.y[curve * in_.m + j] * units_.down[size_t(j)] - units_.centre[size_t(j)]) * units_.narrow[size_t(j)];
        return std::isfinite(z) ? z : 0.0;
    }
    double dot(const double* a, const double* b) const { return std::inner_product(a, a + in_.m, b, 0.0); }
    void orthonormalise() {
        for (int v = 0; v < kDirections; ++v) {
            double* x = &basis_[size_t(v * in_.m)];
            for (int w = 0; w < v; ++w) {
                const double* other = &basis_[size_t(w * in_.m)];
                const double along = dot(x, other);
                for (int64_t j = 0; j < in_.m; ++j) x[j] -= along * other[j];
            }
            const double length = std::sqrt(dot(x, x));
            for (int64_t j = 0; j < in_.m; ++j) x[j] = length > 1e-100 && std::isfinite(length) ? x[j] / length : 0.0;
        }
    }

    const PairArrays& in_;
    const Units& units_;
    std::vector<double> mean_, basis_;
    double offset_[kDirections];
};

// Halve [begin, end) at the median of its widest direction until leaves remain.
void cut(int32_t* begin, int32_t* end, const std::vector<float>& along, int64_t leaf, Poll& poll) {
    while (end - begin > leaf) {
        poll.check();
        int widest = 0;
        float width = -1.0f;
        for (int v = 0; v < kDirections; ++v) {
            float low = along[size_t(*begin) * kDirections + size_t(v)], high = low;
            for (const int32_t* c = begin; c < end; ++c) {
                low = std::min(low, along[size_t(*c) * kDirections + size_t(v)]);
                high = std::max(high, along[size_t(*c) * kDirections + size_t(v)]);
            }
            if (high - low > width) widest = v, width = high - low;
        }
        int32_t* middle = begin + ((end - begin) / 2 + leaf - 1) / leaf * leaf;
        if (middle >= end) return;
        // Ties by index, so that the order does not depend on the library's algorithm.
        std::nth_element(begin, middle, end, [&](int32_t a, int32_t b) {
            const float x = along[size_t(a) * kDirections + size_t(widest)], z = along[size_t(b) * kDirections + size_t(widest)];
            return x < z || (x == z && a < b);
        });
        cut(begin, middle, along, leaf, poll);
        begin = middle;
    }
}

}  // namespace

std::vector<int32_t> similar_together(const PairArrays& in, const Units& units, int64_t n_sample, int64_t leaf, Poll& poll) {
    if (in.k < 4 * std::max(n_sample, leaf) || in.k > INT32_MAX) return {};
    const Directions directions(in, units, poll);
    std::vector<float> along(size_t(in.k * kDirections));
    for (int64_t c = 0; c < in.k; ++c) {
        poll.spent(kDirections * in.m);
        directions.project(c, &along[size_t(c * kDirections)]);
    }
    std::vector<int32_t> sorted(size_t(in.k)), order;
    std::iota(sorted.begin(), sorted.end(), 0);
    cut(sorted.data(), sorted.data() + in.k, along, leaf, poll);

    // Every step-th of the sorted curves first, then the rest.
    const int64_t step = in.k / n_sample;
    order.reserve(sorted.size());
    for (int64_t i = 0; i < n_sample; ++i) order.push_back(sorted[size_t(i * step)]);
    for (int64_t i = 0; i < in.k; ++i)
        if (i % step != 0 || i / step >= n_sample) order.push_back(sorted[size_t(i)]);
    return order;
}

}  // namespace badac
