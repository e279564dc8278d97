// The units the pair kernel computes in, and how far numbers can go in them.
//
// Each point gets a power of two near the typical standard deviation of a pair there. Dividing values and sigmas by it is exact,
// leaves r^2/v as it is, and brings the variances near 1, so that long products of them stay in range. The float screening
// subtracts a centre of the curves first (in double) and divides by the typical sigma itself.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "pair.hpp"
#include "threads.hpp"

namespace badac {


// log2 |x| from the bits, linear between powers of two: below by at most 0.0861, never above. Zero gives -1023, infinity 1024.
inline double log2_below(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return double(int64_t(bits & 0x7fffffffffffffffULL)) * 0x1p-52 - 1023.0;
}
inline double log2_above(double x) { return log2_below(x) + 0.0861; }

struct Units {
    Units(const PairArrays& arrays, Poll& poll);

    int64_t padded;                           // points, rounded up to a multiple of kRowStep
    std::vector<int> exponent;                // (m) the unit of a point is 2^exponent
    std::vector<double> down;                 // (m) 2^-exponent
    std::vector<double> extra;                // (m) the extra variance in these units
    std::vector<double> y_low, y_high;        // (m) range of the curves, in these units
    std::vector<double> b_low, b_high;        // (m) range of the curves' variance, extra included
    std::vector<double> centre, narrow;       // (m) float unit: (y - centre) * narrow
    std::vector<double> log2_narrow2, reach;  // (m) log2 narrow^2; max |y - centre| * narrow
    double max_log_weight = 0.0;              // 0 if weights are equal
};

// log N(d_i ; y_c, ...) point by point with hypot: no square can overflow or vanish before it should. Throws ZeroVariance.
double careful_log_match(const PairArrays& arrays, int64_t object, int64_t curve);

}  // namespace badac
