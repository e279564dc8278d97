// The M-step of a deconvolved mixture with the scoring step for its covariances. Twin: latent_improved in badac/_kernels/latent.py.
//
// A few small matrices a component, and the step is taken thousands of times with a few hundred members: what it takes elsewhere
// is the calls, not the arithmetic.
#include "improve.hpp"

#include <cmath>
#include <vector>

#include "door.hpp"
#include "heed.hpp"

namespace badac {
namespace {

constexpr int kMost = 8;        // dimensions: in more the eigenvectors of a library are faster than these rotations
constexpr int kSweeps = 30;     // of the rotations, which end after six to eight
constexpr double kConverged = 1e-28;  // of the sum of squares: below a hundredfold of rounding, which does not fall further
constexpr double kLeastCount = 1e-3;
typedef double Square[kMost * kMost];

struct Limits {
    double pooling, least_information, largest_change, floor;
};

// Lower triangle L of A = L L'; false unless A is positive definite.
bool cholesky(const double* A, int r, double* L) {
    for (int a = 0; a < r; ++a) {
        for (int c = 0; c <= a; ++c) {
            double sum = A[a * r + c];
            for (int e = 0; e < c; ++e) sum -= L[a * r + e] * L[c * r + e];
            if (c < a) {
                L[a * r + c] = sum / L[c * r + c];
            } else {
                if (!(sum > 0.0) || !std::isfinite(sum)) return false;
                L[a * r + a] = std::sqrt(sum);
            }
        }
        for (int c = a + 1; c < r; ++c) L[a * r + c] = 0.0;
    }
    return true;
}

void invert_lower(const double* L, int r, double* W) {
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) {
            double sum = a == c ? 1.0 : 0.0;
            for (int e = c; e < a; ++e) sum -= L[a * r + e] * W[e * r + c];
            W[a * r + c] = c > a ? 0.0 : sum / L[a * r + a];
        }
}

// out = A B, or A B' if `turned`.
void multiply(const double* A, const double* B, int r, bool turned, double* out) {
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) {
            double sum = 0.0;
            for (int e = 0; e < r; ++e) sum += A[a * r + e] * (turned ? B[c * r + e] : B[e * r + c]);
            out[a * r + c] = sum;
        }
}

// out = A S A'.
void sandwich(const double* A, const double* S, int r, double* out) {
    Square half;
    multiply(A, S, r, false, half);
    multiply(half, A, r, true, out);
}

// Eigenvalues and eigenvectors (columns of V) of the symmetric A, which is lost: Jacobi's rotations.
void eigen(double* A, int r, double* values, double* V) {
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) V[a * r + c] = a == c ? 1.0 : 0.0;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        double off = 0.0, all = 0.0;
        for (int a = 0; a < r; ++a)
            for (int c = 0; c < r; ++c) {
                all += A[a * r + c] * A[a * r + c];
                if (c != a) off += A[a * r + c] * A[a * r + c];
            }
        if (!(off > kConverged * all)) break;
        for (int a = 0; a < r; ++a)
            for (int c = a + 1; c < r; ++c) {
                const double between = A[a * r + c];
                if (between == 0.0) continue;
                const double theta = (A[c * r + c] - A[a * r + a]) / (2.0 * between);
                const double t = (theta < 0.0 ? -1.0 : 1.0) / (std::fabs(theta) + std::sqrt(theta * theta + 1.0));
                const double cosine = 1.0 / std::sqrt(t * t + 1.0), sine = t * cosine;
                for (int e = 0; e < r; ++e) {
                    const double x = A[e * r + a], y = A[e * r + c];
                    A[e * r + a] = cosine * x - sine * y, A[e * r + c] = sine * x + cosine * y;
                }
                for (int e = 0; e < r; ++e) {
                    const double x = A[a * r + e], y = A[c * r + e];
                    A[a * r + e] = cosine * x - sine * y, A[c * r + e] = sine * x + cosine * y;
                }
                for (int e = 0; e < r; ++e) {
                    const double x = V[e * r + a], y = V[e * r + c];
                    V[e * r + a] = cosine * x - sine * y, V[e * r + c] = sine * x + cosine * y;
                }
            }
    }
    for (int a = 0; a < r; ++a) values[a] = A[a * r + a];
}

// out = V diag(values) V'.
void compose(const double* V, const double* values, int r, double* out) {
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) {
            double sum = 0.0;
            for (int e = 0; e < r; ++e) sum += V[a * r + e] * values[e] * V[c * r + e];
            out[a * r + c] = sum;
        }
}

// Whether all eigenvalues of side * A, side 1 or -1, are above `least`: by a triangle, for a tenth of what they cost.
bool above(const double* A, int r, double side, double least) {
    Square shifted, L;
    for (int e = 0; e < r * r; ++e) shifted[e] = side * A[e];
    for (int a = 0; a < r; ++a) shifted[a * r + a] -= least;
    return cholesky(shifted, r, L);
}

// Inverse of A, no eigenvalue of which is taken as less than `least`.
void invert(const double* A, int r, double least, double* out) {
    Square work, V;
    double values[kMost];
    if (above(A, r, 1.0, least) && cholesky(A, r, work)) {
        invert_lower(work, r, V);
        for (int a = 0; a < r; ++a)
            for (int c = a; c < r; ++c) {
                double sum = 0.0;
                for (int e = c; e < r; ++e) sum += V[e * r + a] * V[e * r + c];
                out[a * r + c] = out[c * r + a] = sum;
            }
        return;
    }
    for (int e = 0; e < r * r; ++e) work[e] = A[e];
    eigen(work, r, values, V);
    for (int a = 0; a < r; ++a) values[a] = 1.0 / std::fmax(values[a], least);
    compose(V, values, r, out);
}

// Mean and covariance of one component after the step, the covariance not pooled yet; false if the old one is none.
bool step(const double* sums, const double* old_mean, const double* old, int r, const Limits& limits, double* mean, double* changed) {
    const int p = r * (r + 1) / 2;
    const double count = sums[0], safe = std::fmax(count, kLeastCount);
    const double *first = sums + 1, *second = first + r, *spread = second + p;
    for (int a = 0; a < r; ++a) mean[a] = count > kLeastCount ? first[a] / safe : old_mean[a];
    Square L, W, left, noise, information, asked, V, inverse;
    double values[kMost];
    if (!cholesky(old, r, L)) return false;
    invert_lower(L, r, W);
    for (int a = 0, e = 0; a < r; ++a)
        for (int c = a; c < r; ++c, ++e) {
            const double own = second[e] / safe - mean[a] * mean[c] * (count / safe);
            left[a * r + c] = left[c * r + a] = own - old[a * r + c];
            noise[a * r + c] = noise[c * r + a] = spread[e] / safe;
        }
    sandwich(W, noise, r, information);
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) information[a * r + c] = (a == c ? 1.0 : 0.0) - information[a * r + c];
    sandwich(W, left, r, asked);
    invert(information, r, limits.least_information, inverse);
    sandwich(inverse, asked, r, information);
    for (int a = 0; a < r; ++a) information[a * r + a] += 1.0;
    if (above(information, r, 1.0, 1.0 / limits.largest_change) && above(information, r, -1.0, -limits.largest_change)) {
        sandwich(L, information, r, changed);
        return true;
    }
    eigen(information, r, values, V);
    for (int a = 0; a < r; ++a) {
        if (!std::isfinite(values[a])) return false;
        values[a] = std::fmin(std::fmax(values[a], 1.0 / limits.largest_change), limits.largest_change);
    }
    multiply(L, V, r, false, inverse);
    compose(inverse, values, r, changed);
    return true;
}

// Packed precision, shift and log constant of a component, as the latent kernels take it; false if its covariance is none.
bool component(double weight, const double* mean, const double* covariance, int r, double* precision, double* shift, double* constant) {
    Square L, W;
    if (!cholesky(covariance, r, L)) return false;
    invert_lower(L, r, W);
    double log_det = 0.0, quadratic = 0.0;
    for (int a = 0; a < r; ++a) log_det += 2.0 * std::log(L[a * r + a]), shift[a] = 0.0;
    for (int a = 0, e = 0; a < r; ++a)
        for (int c = a; c < r; ++c, ++e) {
            double sum = 0.0;
            for (int b = c; b < r; ++b) sum += W[b * r + a] * W[b * r + c];
            precision[e] = sum;
            shift[a] += sum * mean[c];
            if (c != a) shift[c] += sum * mean[a];
        }
    for (int a = 0; a < r; ++a) quadratic += mean[a] * shift[a];
    *constant = std::log(weight) - 0.5 * (quadratic + log_det);
    return true;
}

}  // namespace

void bind_improve(nb::module_& m) {
    m.attr("improve_max_rank") = kMost;
    m.def(
        "latent_improved",
        [](Output weights, Output means, Output covariances, Output precision, Output shift, Output log_constant, const Matrix& old_means,
           const Cube& old_covariances, const Matrix& sums, double pooling, double least_information, double largest_change, double floor,
           int n_threads) {
            const int64_t k = int64_t(old_means.shape(0));
            const int r = small(old_means.shape(1), "too many dimensions");
            require(r >= 1 && r <= kMost, "the step works in 1 to 8 dimensions");
            const int64_t p = r * (r + 1) / 2, square = int64_t(r) * r;
            require(k >= 1, "there must be a component");
            require(int64_t(old_covariances.shape(0)) == k && int64_t(old_covariances.shape(1)) == r && int64_t(old_covariances.shape(2)) == r,
                    "the covariances do not fit the means");
            require(int64_t(sums.shape(0)) == k && int64_t(sums.shape(1)) == 1 + r + 2 * p, "the sums do not fit the means");
            require(int64_t(weights.size()) == k && int64_t(means.size()) == k * r && int64_t(covariances.size()) == k * square &&
                        int64_t(precision.size()) == k * p && int64_t(shift.size()) == k * r && int64_t(log_constant.size()) == k,
                    "the results do not fit the means");
            const Limits limits{pooling, least_information, largest_change, floor};
            const int64_t width = 1 + r + 2 * p;
            std::vector<uint8_t> good(size_t(k), 0);
            const double cost = 40.0 * double(square) * r;
            over_objects(k, objects_per_block(cost, 1), n_threads, [&] {
                return [&](int64_t begin, int64_t end) {
                    for (int64_t c = begin; c < end; ++c)
                        good[size_t(c)] = step(sums.data() + c * width, old_means.data() + c * r, old_covariances.data() + c * square, r,
                                               limits, means.data() + c * r, covariances.data() + c * square);
                };
            });
            Square pooled = {};
            double total = 0.0;
            for (int64_t c = 0; c < k; ++c) {
                if (!good[size_t(c)]) return false;
                total += weights.data()[c] = std::fmax(sums.data()[c * width], kLeastCount);
            }
            without_gil([&] {
                Poll poll(interrupted);
                for (int64_t c = 0; c < k; ++c) {
                    poll.spent(square);
                    for (int64_t e = 0; e < square; ++e) pooled[e] += weights.data()[c] / total * covariances.data()[c * square + e];
                }
            });
            over_objects(k, objects_per_block(cost, 1), n_threads, [&] {
                return [&](int64_t begin, int64_t end) {
                    for (int64_t c = begin; c < end; ++c) {
                        double *own = covariances.data() + c * square, safe = weights.data()[c];
                        for (int64_t e = 0; e < square; ++e) own[e] = (safe * own[e] + pooling * pooled[e]) / (safe + pooling);
                        for (int a = 0; a < r; ++a)
                            for (int b = a; b < r; ++b)
                                own[a * r + b] = own[b * r + a] = 0.5 * (own[a * r + b] + own[b * r + a]) + (a == b ? floor : 0.0);
                        weights.data()[c] = safe / total;
                        good[size_t(c)] = component(weights.data()[c], means.data() + c * r, own, r, precision.data() + c * p,
                                                    shift.data() + c * r, log_constant.data() + c);
                    }
                };
            });
            for (int64_t c = 0; c < k; ++c)
                if (!good[size_t(c)]) return false;
            return true;
        },
        written("weights"), written("means"), written("covariances"), written("precision"), written("shift"), written("log_constant"),
        "old_means"_a, "old_covariances"_a, "sums"_a, "pooling"_a, "least_information"_a, "largest_change"_a, "floor"_a, "n_threads"_a);
}

}  // namespace badac
