// Small symmetric matrices, one component a lane. Compiled once per instruction set; see simd.hpp for the rules.
#include "improve_kernel.hpp"

#include "heed.hpp"
#include "latent_lanes.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int kMost = kImproveMost;
constexpr int kSweeps = 30;           // of the rotations, which end after six to eight
constexpr double kConverged = 1e-28;  // of the sum of squares: below a hundredfold of rounding, which does not fall further
constexpr double kHuge = 1.7976931348623157e308;
typedef VecD Square[kMost * kMost];

BADAC_INLINE VecD at(double x) { return broadcast<VecD>(x); }
BADAC_INLINE bool all_set(const IntD& mask) { return lanes_set(mask) == (1u << L) - 1u; }

// Lower triangle T of A = T T'; the lanes of `good` stay set where A is positive definite. No number makes a lane that is not stop the rest.
void cholesky(const VecD* A, int r, VecD* T, IntD& good) {
    for (int a = 0; a < r; ++a) {
        for (int c = 0; c <= a; ++c) {
            VecD sum = A[a * r + c];
            for (int e = 0; e < c; ++e) sum = fma(VecD(at(0.0) - T[a * r + e]), T[c * r + e], sum);
            if (c < a) {
                T[a * r + c] = sum / T[c * r + c];
            } else {
                const IntD fine = greater(sum, at(0.0)) & greater(at(kHuge), sum);
                good = good & fine;
                T[a * r + a] = root(select(fine, sum, at(1.0)));
            }
        }
        for (int c = a + 1; c < r; ++c) T[a * r + c] = at(0.0);
    }
}

void invert_lower(const VecD* T, int r, VecD* W) {
    for (int a = 0; a < r; ++a) {
        const VecD inverse = at(1.0) / T[a * r + a];
        for (int c = 0; c < r; ++c) {
            VecD sum = at(a == c ? 1.0 : 0.0);
            for (int e = c; e < a; ++e) sum = fma(VecD(at(0.0) - T[a * r + e]), W[e * r + c], sum);
            W[a * r + c] = c > a ? at(0.0) : VecD(sum * inverse);
        }
    }
}

// out = A B, or A B' if TURNED.
template <bool TURNED>
void multiply(const VecD* A, const VecD* B, int r, VecD* out) {
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) {
            VecD sum = at(0.0);
            for (int e = 0; e < r; ++e) sum = fma(A[a * r + e], TURNED ? B[c * r + e] : B[e * r + c], sum);
            out[a * r + c] = sum;
        }
}

// out = A S A'.
void sandwich(const VecD* A, const VecD* S, int r, VecD* out) {
    Square half;
    multiply<false>(A, S, r, half);
    multiply<true>(half, A, r, out);
}

// out = W' W of a lower triangle W.
void crossed(const VecD* W, int r, VecD* out) {
    for (int a = 0; a < r; ++a)
        for (int c = a; c < r; ++c) {
            VecD sum = at(0.0);
            for (int e = c; e < r; ++e) sum = fma(W[e * r + a], W[e * r + c], sum);
            out[a * r + c] = out[c * r + a] = sum;
        }
}

// Eigenvalues and eigenvectors (columns of V) of the symmetric A, which is lost: Jacobi's rotations.
void eigen(VecD* A, int r, VecD* values, VecD* V) {
    Attention attention;
    const VecD zero = at(0.0), one = at(1.0), half = at(0.5);
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) V[a * r + c] = a == c ? one : zero;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        attention.spent(int64_t(L) * 9 * r * r * r);
        VecD off = zero, all = zero;
        for (int a = 0; a < r; ++a)
            for (int c = 0; c < r; ++c) {
                all = fma(A[a * r + c], A[a * r + c], all);
                if (c != a) off = fma(A[a * r + c], A[a * r + c], off);
            }
        if (!lanes_set(greater(off, VecD(at(kConverged) * all)))) break;
        for (int a = 0; a < r; ++a)
            for (int c = a + 1; c < r; ++c) {
                const VecD between = A[a * r + c];
                const IntD turns = greater(VecD(between * between), zero);
                const VecD theta = (A[c * r + c] - A[a * r + a]) * half / select(turns, between, one);
                const IntD below = greater(zero, theta);
                const VecD size = select(below, VecD(zero - theta), theta);
                VecD t = one / (size + root(VecD(fma(theta, theta, one))));
                t = select(turns, select(below, VecD(zero - t), t), zero);
                const VecD cosine = one / root(VecD(fma(t, t, one))), sine = t * cosine, minus = zero - sine;
                for (int e = 0; e < r; ++e) {
                    const VecD x = A[e * r + a], y = A[e * r + c];
                    A[e * r + a] = fma(cosine, x, VecD(minus * y)), A[e * r + c] = fma(sine, x, VecD(cosine * y));
                }
                for (int e = 0; e < r; ++e) {
                    const VecD x = A[a * r + e], y = A[c * r + e];
                    A[a * r + e] = fma(cosine, x, VecD(minus * y)), A[c * r + e] = fma(sine, x, VecD(cosine * y));
                }
                for (int e = 0; e < r; ++e) {
                    const VecD x = V[e * r + a], y = V[e * r + c];
                    V[e * r + a] = fma(cosine, x, VecD(minus * y)), V[e * r + c] = fma(sine, x, VecD(cosine * y));
                }
            }
    }
    for (int a = 0; a < r; ++a) values[a] = A[a * r + a];
}

// out = V diag(values) V'.
void compose(const VecD* V, const VecD* values, int r, VecD* out) {
    Square scaled;
    for (int a = 0; a < r; ++a)
        for (int e = 0; e < r; ++e) scaled[a * r + e] = V[a * r + e] * values[e];
    multiply<true>(scaled, V, r, out);
}

// Whether all eigenvalues of side * A, side 1 or -1, are above `least` in all lanes: by triangles, for a tenth of what they cost.
bool above(const VecD* A, int r, double side, double least) {
    Square shifted, T;
    for (int e = 0; e < r * r; ++e) shifted[e] = at(side) * A[e];
    for (int a = 0; a < r; ++a) shifted[a * r + a] = shifted[a * r + a] - at(least);
    IntD good = greater(at(1.0), at(0.0));
    cholesky(shifted, r, T, good);
    return all_set(good);
}

// Inverse of A, no eigenvalue of which is taken as less than `least`.
void invert_above(const VecD* A, int r, double least, VecD* out) {
    Square work, V;
    VecD values[kMost];
    IntD good = greater(at(1.0), at(0.0));
    if (above(A, r, 1.0, least)) {
        cholesky(A, r, work, good);
        if (all_set(good)) {
            invert_lower(work, r, V);
            return crossed(V, r, out);
        }
    }
    for (int e = 0; e < r * r; ++e) work[e] = A[e];
    eigen(work, r, values, V);
    for (int a = 0; a < r; ++a) values[a] = at(1.0) / larger(values[a], at(least));
    compose(V, values, r, out);
}

// The components of L lanes from `first` on; those beyond `last` repeat the last one.
struct Lanes {
    int64_t of[L];
    Lanes(int64_t first, int64_t last) {
        for (int lane = 0; lane < L; ++lane) of[lane] = first + lane < last ? first + lane : last - 1;
    }
    VecD bring(const double* array, int64_t width, int64_t place) const {
        double lanes[L];
        for (int lane = 0; lane < L; ++lane) lanes[lane] = array[of[lane] * width + place];
        return load<VecD>(lanes);
    }
    void take(const VecD& x, double* array, int64_t width, int64_t place) const {
        for (int lane = 0; lane < L; ++lane) array[of[lane] * width + place] = x[lane];
    }
};

bool step_of(const ImproveArrays& in, const Lanes& lanes) {
    const int r = in.r, p = r * (r + 1) / 2, square = r * r, width = 1 + r + 2 * p;
    const VecD count = lanes.bring(in.sums, width, 0), safe = larger(count, at(kImproveLeastCount)), share = at(1.0) / safe;
    const IntD counts = greater(count, at(kImproveLeastCount));
    VecD mean[kMost], values[kMost];
    for (int a = 0; a < r; ++a) {
        mean[a] = select(counts, VecD(lanes.bring(in.sums, width, 1 + a) * share), lanes.bring(in.old_means, r, a));
        lanes.take(mean[a], in.means, r, a);
    }
    Square T, W, left, noise, information, asked, V, inverse;
    for (int e = 0; e < square; ++e) left[e] = lanes.bring(in.old_covariances, square, e);
    IntD good = greater(at(1.0), at(0.0));
    cholesky(left, r, T, good);
    if (!all_set(good)) return false;
    invert_lower(T, r, W);
    const VecD minus = at(0.0) - count * share;
    for (int a = 0, e = 0; a < r; ++a)
        for (int c = a; c < r; ++c, ++e) {
            const VecD own = fma(VecD(minus * mean[a]), mean[c], VecD(lanes.bring(in.sums, width, 1 + r + e) * share));
            left[a * r + c] = left[c * r + a] = own - left[a * r + c];
            noise[a * r + c] = noise[c * r + a] = lanes.bring(in.sums, width, 1 + r + p + e) * share;
        }
    sandwich(W, noise, r, information);
    for (int a = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) information[a * r + c] = at(a == c ? 1.0 : 0.0) - information[a * r + c];
    sandwich(W, left, r, asked);
    invert_above(information, r, in.least_information, inverse);
    sandwich(inverse, asked, r, information);
    for (int a = 0; a < r; ++a) information[a * r + a] = information[a * r + a] + at(1.0);
    if (above(information, r, 1.0, 1.0 / in.largest_change) && above(information, r, -1.0, -in.largest_change)) {
        sandwich(T, information, r, inverse);
    } else {
        eigen(information, r, values, V);
        for (int a = 0; a < r; ++a) {
            if (!all_set(IntD(greater(values[a], at(-kHuge)) & greater(at(kHuge), values[a])))) return false;
            const VecD least = larger(values[a], at(1.0 / in.largest_change));
            values[a] = at(0.0) - larger(VecD(at(0.0) - least), at(-in.largest_change));
        }
        multiply<false>(T, V, r, asked);
        compose(asked, values, r, inverse);
    }
    for (int e = 0; e < square; ++e) lanes.take(inverse[e], in.covariances, square, e);
    return true;
}

bool finish_of(const ImproveArrays& in, const double* pooled, double total, const Lanes& lanes) {
    const int r = in.r, p = r * (r + 1) / 2, square = r * r;
    const VecD safe = lanes.bring(in.weights, 1, 0), pooling = at(in.pooling), share = at(1.0) / (safe + pooling), half = at(0.5);
    Square own, T, W;
    VecD mean[kMost], shift[kMost];
    for (int e = 0; e < square; ++e) own[e] = fma(safe, lanes.bring(in.covariances, square, e), VecD(pooling * at(pooled[e]))) * share;
    for (int a = 0; a < r; ++a)
        for (int c = a; c < r; ++c) own[a * r + c] = own[c * r + a] = fma(half, VecD(own[a * r + c] + own[c * r + a]), at(a == c ? in.floor : 0.0));
    IntD good = greater(at(1.0), at(0.0));
    cholesky(own, r, T, good);
    if (!all_set(good)) return false;
    for (int e = 0; e < square; ++e) lanes.take(own[e], in.covariances, square, e);
    invert_lower(T, r, W);
    crossed(W, r, own);
    VecD log_det = at(0.0), quadratic = at(0.0);
    for (int a = 0; a < r; ++a) {
        mean[a] = lanes.bring(in.means, r, a), shift[a] = at(0.0);
        log_det = fma(at(2.0), log_positive(T[a * r + a]), log_det);
    }
    for (int a = 0, e = 0; a < r; ++a)
        for (int c = 0; c < r; ++c) {
            shift[a] = fma(own[a * r + c], mean[c], shift[a]);
            if (c >= a) lanes.take(own[a * r + c], in.precision, p, e++);
        }
    for (int a = 0; a < r; ++a) {
        quadratic = fma(mean[a], shift[a], quadratic);
        lanes.take(shift[a], in.shift, r, a);
    }
    const VecD weight = safe / at(total);
    // All lanes of a component that is there twice say the same.
    lanes.take(VecD(log_positive(weight) - half * (quadratic + log_det)), in.log_constant, 1, 0);
    return true;
}

bool step(const ImproveArrays& in, int64_t first, int64_t last) {
    for (int64_t start = first; start < last; start += L)
        if (!step_of(in, Lanes(start, last))) return false;
    return true;
}

bool finish(const ImproveArrays& in, const double* pooled, double total, int64_t first, int64_t last) {
    for (int64_t start = first; start < last; start += L)
        if (!finish_of(in, pooled, total, Lanes(start, last))) return false;
    return true;
}

const ImproveKernels kTable = {L, step, finish};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const ImproveKernels* BADAC_JOIN(improve_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
