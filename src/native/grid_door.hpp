// Objects on a common grid, as they come from Python.
#pragma once
#include "door.hpp"
#include "grid_points.hpp"

namespace badac {

inline GridPoints grid_points(const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi, const Indices& rows) {
    const int64_t all = int64_t(values.shape(0)), n = int64_t(rows.shape(0));
    const int m = small(values.shape(1), "too many points");
    require(int64_t(sigma.shape(0)) == all && int64_t(sigma.shape(1)) == m, "sigma does not fit values");
    require(int64_t(mean.size()) == m && int64_t(psi.size()) == m, "mean or psi does not fit values");
    for (int64_t i = 0; i < n; ++i) require(rows.data()[i] >= 0 && rows.data()[i] < all, "rows is out of range");
    return {n, m, values.data(), sigma.data(), mean.data(), psi.data(), rows.data()};
}

}  // namespace badac
