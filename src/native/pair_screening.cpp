#include "pair_screening.hpp"

#include <algorithm>
#include <cmath>

namespace badac {

double tolerance(const Evidence& e, double log_k, bool equal_weights) {
    const double low = e.reference + e.constant - (equal_weights ? log_k : 0.0), high = low + log_k + 15.0;
    return 1e-9 * std::max({low, -high, 1e-3});
}

Screening screen(const Evidence& e, int n_points, double log_k, double max_log_weight, double allowed) {
    const double u = 0x1p-24, m = n_points;
    const double deepest = log_k - std::log(allowed);  // nothing counts below
    const double best = e.reference - e.float_shift;
    const double c = std::max(0.0, 2.0 * (deepest - best + max_log_weight) - e.float_log_v_floor);
    const double value = std::min(2.0 * std::sqrt(c * e.value_error), 7.0 * std::sqrt(c * e.worst_value_error)) + e.value_error;
    const double error = 0.5 * (value + 4.0 * std::sqrt(2.0 * m + 16.0) * u * c) + 4.0 * std::sqrt(3.0 * m + 16.0) * u +
                         4.0 * u * (std::fabs(best) + deepest);
    const double change = std::expm1(std::max(error, allowed));
    return {e.reference, error, allowed / change, log_k + std::log(change / allowed)};
}

}  // namespace badac
