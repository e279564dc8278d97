// The points of some objects on a grid, one object a lane: their precisions and what they pull. For kernel sources only, one copy in each
// (see simd.hpp).
#pragma once
#include <math.h>

#include "grid_points.hpp"
#include "latent_lanes.hpp"
#include "transpose.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// Which objects are in the lanes from `start` on; lanes beyond `last` repeat the last one.
BADAC_INLINE void lane_rows(const GridPoints& in, int64_t start, int64_t last, int64_t* rows) {
    for (int lane = 0; lane < L; ++lane) rows[lane] = in.rows[start + lane < last ? start + lane : last - 1];
}

BADAC_INLINE VecD in_lanes(const double* array, int64_t width, const int64_t* rows, int64_t column) {
    double lanes[L];
    for (int lane = 0; lane < L; ++lane) lanes[lane] = array[rows[lane] * width + column];
    return load<VecD>(lanes);
}

struct LaneSums {
    VecD offset, precision, count;  // sum of w (value - mean)^2 - log w + log 2 pi; sum of w; points that were measured
};

// What `weigh_lanes` adds up: see LaneSums.
struct LaneChains {
    VecD chi = broadcast<VecD>(0.0), product = broadcast<VecD>(1.0), exponent = broadcast<VecD>(0.0), count = broadcast<VecD>(0.0),
         total = broadcast<VecD>(0.0);
};

// Weight and pull of one point of every object.
template <bool SUMS>
BADAC_INLINE void weigh_point(const GridPoints& in, int j, const VecD& value, const VecD& s, VecD& weight, VecD& scaled, LaneChains& chains) {
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0);
    const VecD variance = fma(s, s, broadcast<VecD>(in.psi[j])), w = one / variance;
    // A comparison with NaN is false: what is not below or above zero has no residual.
    VecD residual = value - broadcast<VecD>(in.mean[j]);
    residual = select(greater(VecD(residual * residual), broadcast<VecD>(-1.0)), residual, zero);
    const VecD pull = w * residual;
    weight = w, scaled = pull;
    if (!SUMS) return;
    const auto seen = greater(w, zero);
    chains.chi = fma(pull, residual, chains.chi);
    chains.product = take_exponent<double>(VecD(chains.product * select(seen, variance, one)), chains.exponent);
    chains.count = chains.count + select(seen, one, zero);
    chains.total = chains.total + w;
}

// Write w = 1 / (psi + sigma^2) and w (value - mean) of every point, `stride` vectors apart; both are 0 where it is missing.
template <bool SUMS>
BADAC_INLINE void weigh_lanes(const GridPoints& in, const int64_t* rows, int stride, VecD* weight, VecD* scaled, LaneSums& sums) {
    constexpr double kLog2Pi = 1.83787706640934548356;
    LaneChains chains;
    int j = 0;
    for (; j + L <= in.m; j += L) {
        VecD values[L], sigma[L];
        BADAC_UNROLL for (int lane = 0; lane < L; ++lane) {
            values[lane] = load<VecD>(in.values + rows[lane] * in.m + j);
            sigma[lane] = load<VecD>(in.sigma + rows[lane] * in.m + j);
        }
        transpose(values), transpose(sigma);
        BADAC_UNROLL for (int i = 0; i < L; ++i)
            weigh_point<SUMS>(in, j + i, values[i], sigma[i], weight[(j + i) * stride], scaled[(j + i) * stride], chains);
    }
    for (; j < in.m; ++j)
        weigh_point<SUMS>(in, j, in_lanes(in.values, in.m, rows, j), in_lanes(in.sigma, in.m, rows, j), weight[j * stride], scaled[j * stride], chains);
    if (!SUMS) return;
    sums.offset = fma(chains.exponent, broadcast<VecD>(kLog2), log_mantissa(chains.product)) + fma(chains.count, broadcast<VecD>(kLog2Pi), chains.chi);
    sums.precision = chains.total, sums.count = chains.count;
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
