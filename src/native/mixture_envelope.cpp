#include "mixture_envelope.hpp"

#include <algorithm>
#include <cmath>

namespace badac {
namespace {

constexpr double kPowers[] = {0.75, 1.0, 1.25, 1.5, 2.0, 3.0};
constexpr double kStep = 1.05, kLeast = 1e-2, kBeyond = 400.0;  // of u: steps, the first, and the last in units of the widest k
constexpr double kCell = 1.0 / 64.0;                            // of x

}  // namespace

Envelope envelope(const std::vector<double>& object_factor, const std::vector<double>& curve_factor, const std::vector<double>& share,
                  double low, double high) {
    const size_t n_components = share.size();
    double widest = 0.0;
    for (size_t c = 0; c < n_components; ++c) widest = std::max({widest, object_factor[c], curve_factor[c]});
    std::vector<double> at{0.0};
    for (double u = kLeast; at.back() < kBeyond * widest; u *= kStep) at.push_back(u);
    // The largest g(u) that any x of a cell can have: k is linear in x, and k^(-1/2) exp(-u / (2 k)) is largest at k = u.
    std::vector<double> largest(at.size(), 0.0);
    const int n_cells = std::max(1, int(std::ceil((high - low) / kCell)));
    for (int cell = 0; cell < n_cells; ++cell) {
        const double from = low + (high - low) * cell / n_cells, to = low + (high - low) * (cell + 1) / n_cells;
        for (size_t i = 0; i < at.size(); ++i) {
            double sum = 0.0;
            for (size_t c = 0; c < n_components; ++c) {
                const double one = object_factor[c] * from + curve_factor[c] * (1.0 - from), other = object_factor[c] * to + curve_factor[c] * (1.0 - to);
                const double k = std::clamp(at[i], std::min(one, other), std::max(one, other));
                sum += share[c] / std::sqrt(k) * std::exp(-0.5 * at[i] / k);
            }
            largest[i] = std::max(largest[i], sum);
        }
    }
    // How much an envelope of each power takes off a point of a good match: r as likely as the density says. The most is the best.
    Envelope best{std::log(largest[0]), 0.0, 1.0};
    double most = -1.0;
    for (const double power : kPowers) {
        // Between two u's g is at most its value at the first, and g falls; from 0 on it is log-convex, so -log g is above its chord.
        double rate = std::log(largest[0] / largest[1]) / (power * at[1]);
        for (size_t i = 1; i + 1 < at.size() && largest[i] > 0.0; ++i)
            rate = std::min(rate, (std::pow(largest[0] / largest[i], 1.0 / power) - 1.0) / at[i + 1]);
        if (!(rate > 0.0) || !std::isfinite(rate)) continue;
        double taken = 0.0;
        for (size_t i = 1; i + 1 < at.size(); ++i)
            taken += largest[i] * (std::sqrt(at[i + 1]) - std::sqrt(at[i])) * power * std::log1p(rate * at[i]);
        if (taken > most) most = taken, best.rate = rate, best.power = power;
    }
    return best;
}

}  // namespace badac
