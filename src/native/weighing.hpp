// The points of one object around a mean: their precisions and what they pull. For kernel sources only, one copy in each (see simd.hpp).
#pragma once
#include <math.h>

#include "latent_lanes.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// m points with their errors, around a mean with so much variance of its own.
struct Weighed {
    const double *values, *sigma, *mean, *psi;
    int64_t m;
};

// Write w = 1 / (psi + sigma^2) and w (value - mean) of every point; the sum of w (value - mean)^2 - log w + log 2 pi. One point a lane. A
// missing point (NaN value or infinite sigma) has no weight. PADDED: there is room for whole vectors, and zeros are written there.
template <bool PADDED>
BADAC_INLINE double weigh_object(const Weighed& in, double* weight, double* scaled) {
    constexpr double kLog2Pi = 1.83787706640934548356;
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0);
    VecD chi = zero, product = one, exponent = zero, count = zero;
    // Which lanes are points that were not met before.
    auto fresh = greater(one, zero);
    for (int64_t j = 0; j < in.m; j += L) {
        const int here = int(in.m - j < L ? in.m - j : L);
        VecD v, s, mu, extra;
        int64_t at = j;
        if (here < L && in.m >= L) {
            // The last L points: some of them again.
            at = in.m - L;
            double lanes[L];
            for (int lane = 0; lane < L; ++lane) lanes[lane] = lane < L - here ? 0.0 : 1.0;
            fresh = greater(load<VecD>(lanes), zero);
        }
        if (in.m >= L) {
            v = load<VecD>(in.values + at), s = load<VecD>(in.sigma + at), mu = load<VecD>(in.mean + at), extra = load<VecD>(in.psi + at);
        } else {
            double lanes[4][L];
            for (int lane = 0; lane < L; ++lane) {
                const bool inside = lane < here;
                lanes[0][lane] = inside ? in.values[j + lane] : 0.0, lanes[1][lane] = inside ? in.sigma[j + lane] : HUGE_VAL;
                lanes[2][lane] = inside ? in.mean[j + lane] : 0.0, lanes[3][lane] = inside ? in.psi[j + lane] : 1.0;
            }
            v = load<VecD>(lanes[0]), s = load<VecD>(lanes[1]), mu = load<VecD>(lanes[2]), extra = load<VecD>(lanes[3]);
        }
        const VecD variance = fma(s, s, extra);
        const VecD w = one / variance;
        const auto seen = greater(w, zero) & fresh;
        // A comparison with NaN is false: what is not below or above zero has no residual.
        VecD residual = v - mu;
        residual = select(greater(VecD(residual * residual), broadcast<VecD>(-1.0)), residual, zero);
        const VecD pull = w * residual;
        chi = fma(select(fresh, pull, zero), residual, chi);
        product = take_exponent<double>(VecD(product * select(seen, variance, one)), exponent);
        count = count + select(seen, one, zero);
        if (in.m >= L) {
            store(weight + at, w), store(scaled + at, pull);
            if (PADDED && here < L)
                for (int64_t beyond = in.m; beyond < j + L; ++beyond) weight[beyond] = scaled[beyond] = 0.0;
        } else if (PADDED) {
            store(weight, w), store(scaled, pull);
        } else {
            for (int lane = 0; lane < here; ++lane) weight[lane] = w[lane], scaled[lane] = pull[lane];
        }
    }
    const VecD total = fma(exponent, broadcast<VecD>(kLog2), log_mantissa(product)) + fma(count, broadcast<VecD>(kLog2Pi), chi);
    double sum = 0.0;
    for (int lane = 0; lane < L; ++lane) sum += total[lane];
    return sum;
}

}  // namespace
}  // namespace BADAC_LEVEL
}  // namespace badac
