// A few directions in which curves differ most, and what objects and curves look like along them.
#pragma once
#include <cstdint>
#include <vector>

#include "pair_kernel.hpp"
#include "pair_units.hpp"

namespace badac {

// What is known of an object or a curve along the directions u_k (columns of U), in the units of the float screening.
struct Along {
    double value[kDirections];     // u_k . z
    double variance[kDirections];  // sum_l |u_k . diag(v) u_l|: the covariance of the values is at most diag(variance)
    double rounding;               // how far a value can be off, computed in double
};

// Principal directions of a sample of the curves. Bounds made of them hold for any directions, good or bad (pair_bounds.hpp).
class Directions {
  public:
    Directions(const PairArrays& arrays, const Units& units, Poll& poll);

    // A curve, its own variance included.
    Along of_curve(int64_t curve) const {
        return along(in_.y + curve * in_.m, in_.y_sigma + (in_.y_sigma_shared ? 0 : curve * in_.m), units_.extra.data());
    }
    // An object and its own variance; missing points count as the centre, without variance.
    Along of_object(int64_t object) const {
        return along(in_.d + object * in_.m, in_.d_sigma + (in_.d_sigma_shared ? 0 : object * in_.m), nullptr);
    }

  private:
    static constexpr int kProducts = kDirections * (kDirections + 1) / 2, kColumns = kDirections + kProducts;
    Along along(const double* value, const double* sigma, const double* extra) const;
    double centred(double value, size_t j) const { return (value * units_.down[j] - units_.centre[j]) * units_.narrow[j]; }
    void orthonormalise(std::vector<double>& basis) const;  // (kDirections, m)

    const PairArrays& in_;
    const Units& units_;
    std::vector<double> columns_;  // (m, kColumns): the directions, and the products of two of them
};

}  // namespace badac
