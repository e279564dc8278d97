#include "pair_directions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace badac {
namespace {

constexpr int kIterations = 6;
constexpr int64_t kRowsForDirections = 256;

}  // namespace

Directions::Directions(const PairArrays& in, const Units& units, Poll& poll) : in_(in), units_(units), columns_(size_t(kColumns * in.m)) {
    const int64_t rows = std::min(in.k, kRowsForDirections), step = in.k / rows, m = in.m;
    std::vector<double> sample(size_t(rows * m)), mean(size_t(m), 0.0);
    for (int64_t r = 0; r < rows; ++r) {
        poll.spent(m);
        for (int64_t j = 0; j < m; ++j) {
            const double z = centred(in.y[r * step * m + j], size_t(j));
            sample[size_t(r * m + j)] = std::isfinite(z) ? z : 0.0;
            mean[size_t(j)] += sample[size_t(r * m + j)] / double(rows);
        }
    }
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < m; ++j) sample[size_t(r * m + j)] -= mean[size_t(j)];
    // Orthogonal iteration, begun from rows of the sample.
    std::vector<double> basis(size_t(kDirections * m)), next(basis.size());
    for (int v = 0; v < kDirections; ++v) std::copy_n(&sample[size_t(v * (rows / kDirections) * m)], m, &basis[size_t(v * m)]);
    orthonormalise(basis);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
        std::fill(next.begin(), next.end(), 0.0);
        for (int64_t r = 0; r < rows; ++r)
            for (int v = 0; v < kDirections; ++v) {
                poll.spent(2 * m);
                const double *row = &sample[size_t(r * m)], *direction = &basis[size_t(v * m)];
                const double along = std::inner_product(row, row + m, direction, 0.0);
                for (int64_t j = 0; j < m; ++j) next[size_t(v * m + j)] += along * row[j];
            }
        basis = next;
        orthonormalise(basis);
    }
    for (int64_t j = 0; j < m; ++j) {
        double* column = &columns_[size_t(j * kColumns)];
        for (int v = 0; v < kDirections; ++v) column[v] = basis[size_t(v * m + j)];
        for (int v = 0, e = kDirections; v < kDirections; ++v)
            for (int w = v; w < kDirections; ++w, ++e) column[e] = column[v] * column[w];
    }
}

Along Directions::along(const double* value, const double* sigma, const double* extra) const {
    double sums[kColumns] = {}, squares = 0.0;
    for (int64_t j = 0; j < in_.m; ++j) {
        const double s = sigma[j] * units_.down[size_t(j)], narrow = units_.narrow[size_t(j)];
        double z = centred(value[j], size_t(j)), v = (s * s + (extra ? extra[j] : 0.0)) * narrow * narrow;
        if (!std::isfinite(z) || !std::isfinite(v)) z = v = 0.0;
        const double* column = &columns_[size_t(j * kColumns)];
        squares += z * z;
        for (int e = 0; e < kDirections; ++e) sums[e] += z * column[e];
        for (int e = kDirections; e < kColumns; ++e) sums[e] += v * column[e];
    }
    Along out{};
    out.rounding = double(in_.m + 16) * 0x1p-51 * std::sqrt(squares);  // the directions have length 1
    for (int v = 0, e = kDirections; v < kDirections; ++v) {
        out.value[v] = sums[v];
        for (int w = v; w < kDirections; ++w, ++e) {
            out.variance[v] += std::fabs(sums[e]);
            if (w > v) out.variance[w] += std::fabs(sums[e]);
        }
    }
    return out;
}

void Directions::orthonormalise(std::vector<double>& basis) const {
    const int64_t m = in_.m;
    const auto dot = [m](const double* a, const double* b) { return std::inner_product(a, a + m, b, 0.0); };
    for (int v = 0; v < kDirections; ++v) {
        double* x = &basis[size_t(v * m)];
        for (int w = 0; w < v; ++w) {
            const double* other = &basis[size_t(w * m)];
            const double along = dot(x, other);
            for (int64_t j = 0; j < m; ++j) x[j] -= along * other[j];
        }
        const double length = std::sqrt(dot(x, x));
        for (int64_t j = 0; j < m; ++j) x[j] = length > 1e-100 && std::isfinite(length) ? x[j] / length : 0.0;
    }
}

}  // namespace badac
