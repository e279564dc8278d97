// What all curves of a tile have in common, and how good a match any of them can be: most tiles need not be looked into.
//
// With z an object or curve, r = z_object - z_curve and V = diag(a + b) the variances of a pair, any directions U give
//     chi^2 = r' V^-1 r >= p' (U' V U)^-1 p >= sum_k p_k^2 / (A_k + B_k) ,   p = U' r ,
// the first by Cauchy and Schwarz, the second since a matrix is at most the diagonal of its absolute row sums: A_k = sum_l |U' diag(a) U|_kl,
// B_k of the curve alike. A tile keeps the smallest and largest u_k . z and the largest B_k of its curves.
//
// log(a + b) is convex in log b, so it is above its tangent at b0: with w_j = b0_j / (a_j + b0_j), t_j = log(b_j / b0_j), w their mean,
//     sum_j log(a_j + b_j) >= sum_j log(a_j + b0_j) + w sum_j t_j - |w_j - w| |t_j|   (two norms).
// A tile keeps the smallest sum_j t_j and the largest norm, bounded by |log x| <= |x - 1| / sqrt(x).
#pragma once
#include <vector>

#include "aligned.hpp"
#include "pair_curves.hpp"
#include "pair_directions.hpp"

namespace badac {

class Bounds {
  public:
    // `curves` along the directions, in their own order; a tile has `width` curves of `order`.
    Bounds(const PairArrays& arrays, const Units& units, const Directions& directions, const std::vector<Along>& curves, const CurveOrder& order,
           int64_t width, Poll& poll);

    // `log_v_floor`: the least that sum log v can be by the ranges of the variances, in float units.
    ObjectBounds object(int64_t object, double log_v_floor) const;
    TileBounds tiles() const;
    int64_t n_tiles() const { return n_tiles_; }

  private:
    void add_log_variances(const CurveOrder& order, int64_t width, Poll& poll);

    const PairArrays& in_;
    const Units& units_;
    const Directions& directions_;
    int64_t n_tiles_, stride_;
    std::vector<double> typical_;  // (m) b0: the mean of some curves' variances, in float units; empty if errors are shared
    AlignedVector<float> low_, high_, variance_, log_v_, spread_;
};

}  // namespace badac
