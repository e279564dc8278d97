// How far scores in single precision can be trusted: what screening may leave there without changing the log-sum.
#pragma once
#include "pair_objects.hpp"

namespace badac {

// What screening may change in a log-sum, in nats: 1e-9 of its size, but never below 1e-12. The size is known from the reference and
// the number of curves, as far as it can still rise: should it rise more, then what was left in float before counts for nothing.
double tolerance(const Evidence&, double log_k, bool equal_weights);

// Which scores in float are good enough to be summed as they are.
//
// Let u = 2^-24, the rounding of r_j be at most q_j standard deviations, and C the chi^2 of a pair. Its score in float is within
//     error = 1/2 (value + 4 sqrt(2 m + 16) u C) + 4 sqrt(3 m + 16) u
//     value = the smaller of 2 sqrt(C sum q_j^2) (Cauchy-Schwarz) and 7 sqrt(C max q_j^2), plus sum q_j^2
// of the truth. The constants take the roundings of different operations as independent, and 14 or more of their standard deviations:
// what is seen in a billion pairs is a third of it. Curves that stay in float with a mass F, relative to the best curve, change the
// log-sum by at most F (exp(error) - 1) / (the sum, at least 1), which must stay within the tolerance.
Screening screen(const Evidence&, int n_points, double log_k, double max_log_weight, double allowed);

}  // namespace badac
