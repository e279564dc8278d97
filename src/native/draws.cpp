// Positions that stand for objects' posteriors in a latent space, object by object. Twin: badac/_kernels/draws.py.
#include "draws.hpp"

#include <cmath>

#include "door.hpp"
#include "heed.hpp"

namespace badac {
namespace {

constexpr int kDrawsMaxRank = 48;
constexpr double kLeastPivot = 1e-14;  // of a diagonal element: what rounding may leave of it

// The posterior of one object under one component: the root of its precision, packed by rows of the lower triangle, with
// the diagonal inverted, and L^-1 times its shift.
struct Posterior {
    double root[kDrawsMaxRank * (kDrawsMaxRank + 1) / 2], shift[kDrawsMaxRank];

    void find(const double* precision, const double* own_precision, const double* b, const double* own_b, int r) {
        for (int a = 0; a < r; ++a) {
            double* row = root + a * (a + 1) / 2;
            double sum = b[a] + own_b[a];
            for (int c = 0; c <= a; ++c) {
                const double* above = root + c * (c + 1) / 2;
                const int e = c * r - c * (c - 1) / 2 + (a - c);  // of the upper triangle, row by row
                const double entry = precision[e] + own_precision[e];
                double left = entry;
                for (int d = 0; d < c; ++d) left -= row[d] * above[d];
                row[c] = c < a ? left * above[c] : 1.0 / std::sqrt(std::fmax(left, kLeastPivot * entry));
            }
            for (int d = 0; d < a; ++d) sum -= row[d] * shift[d];
            shift[a] = sum * row[a];
        }
    }
    // The position of a standard point: L'^-1 (L^-1 shift + point).
    void draw(const double* point, double* out, int r) const {
        for (int a = 0; a < r; ++a) out[a] = shift[a] + point[a];
        for (int a = r - 1; a >= 0; --a) {
            const double* row = root + a * (a + 1) / 2;
            out[a] *= row[a];
            for (int c = 0; c < a; ++c) out[c] -= row[c] * out[a];
        }
    }
};

}  // namespace

void bind_draws(nb::module_& m) {
    m.attr("draws_max_rank") = kDrawsMaxRank;
    m.def(
        "latent_draws",
        [](Output out, const Matrix& precision, const Matrix& shift, const Matrix& own_precision, const Matrix& own_shift,
           const Matrix& responsibility, const Matrix& points, int n_threads) {
            const int64_t n = int64_t(shift.shape(0)), k = int64_t(own_shift.shape(0)), count = int64_t(points.shape(0));
            const int r = small(shift.shape(1), "too many dimensions");
            const int64_t p = int64_t(r) * (r + 1) / 2;
            require(r >= 1 && r <= kDrawsMaxRank, "too many dimensions");
            require(int64_t(precision.shape(0)) == n && int64_t(precision.shape(1)) == p, "precision does not fit shift");
            require(k >= 1 && int64_t(own_shift.shape(1)) == r, "own_shift does not fit shift");
            require(int64_t(own_precision.shape(0)) == k && int64_t(own_precision.shape(1)) == p, "own_precision does not fit own_shift");
            require(int64_t(responsibility.shape(0)) == n && int64_t(responsibility.shape(1)) == k, "responsibility does not fit");
            require(count >= 1 && int64_t(points.shape(1)) == r, "points do not fit shift");
            require(int64_t(out.size()) / count / r == n && int64_t(out.size()) % (count * r) == 0, "out does not fit points and shift");
            const double cost = double(k) + double(count) * double(p) + double(std::min(k, count)) * double(p) * double(r);
            over_each_object(n, cost, n_threads, 0, [&](int64_t i, double*) {
                Posterior posterior;
                Attention attention;
                const double* share = responsibility.data() + i * k;
                int64_t chosen = 0, known = -1;
                double below = share[0];
                for (int64_t draw = 0; draw < count; ++draw) {
                    attention.spent(p);
                    const double middle = (double(draw) + 0.5) / double(count);
                    while (chosen < k - 1 && below < middle) attention.spent(1), below += share[++chosen];
                    if (chosen != known) {
                        attention.spent(p * r);
                        posterior.find(precision.data() + i * p, own_precision.data() + chosen * p, shift.data() + i * r,
                                       own_shift.data() + chosen * r, r);
                        known = chosen;
                    }
                    posterior.draw(points.data() + draw * r, out.data() + (i * count + draw) * r, r);
                }
            });
        },
        written("out"), "precision"_a, "shift"_a, "own_precision"_a, "own_shift"_a, "responsibility"_a, "points"_a, "n_threads"_a);
}

}  // namespace badac
