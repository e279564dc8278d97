// A simple curve above the density of noise of several widths: a product tells which pairs cannot matter, without exponentials.
//
// A pair with variances a (object) and b (curve), v = a + b and u = r^2 / v has at a point the density
//     (2 pi v)^(-1/2) g(u) ,   g(u) = sum_c share_c k_c^(-1/2) exp(-u / (2 k_c)) ,   k_c = object_factor_c x + curve_factor_c (1 - x) ,  x = a / v .
// The envelope is g(u) <= height (1 + rate u)^(-power) for all u >= 0 and all x of the problem.
#pragma once
#include <vector>

namespace badac {

struct Envelope {
    double log_height, rate, power;
};

// low <= x <= high, in [0, 1].
Envelope envelope(const std::vector<double>& object_factor, const std::vector<double>& curve_factor, const std::vector<double>& share,
                  double low, double high);

}  // namespace badac
