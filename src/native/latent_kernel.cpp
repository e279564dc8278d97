// The inner loops of the latent kernels, one object a lane. Compiled once per instruction set; see simd.hpp for the rules.
#include "latent_kernel.hpp"

#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr double kLog2 = 0.69314718055994530942;
constexpr int L = Simd<double>::lanes;

// Bring rows list[0..L) of a (., width) array into lanes.
BADAC_INLINE void gather(const double* rows, int width, const int64_t* list, VecD* out) {
    for (int e = 0; e < width; ++e) {
        double lanes[L];
        for (int lane = 0; lane < L; ++lane) lanes[lane] = rows[list[lane] * width + e];
        out[e] = load<VecD>(lanes);
    }
}

// Eliminate M (upper triangle, row by row) and x along: x'M^-1 x and log det M.
template <int RANK>
BADAC_INLINE void eliminate(VecD* M, VecD* x, int rank, VecD& quadratic, VecD& log_det) {
    const int r = RANK > 0 ? RANK : rank;
    VecD exponent = broadcast<VecD>(0.0), product = broadcast<VecD>(1.0);
    quadratic = broadcast<VecD>(0.0);
    VecD* row = M;
    for (int a = 0; a < r; ++a) {
        const VecD inverse = broadcast<VecD>(1.0) / row[0], scaled = x[a] * inverse, minus = broadcast<VecD>(0.0) - inverse;
        product = take_exponent<double>(VecD(product * row[0]), exponent);
        quadratic = fma(x[a], scaled, quadratic);
        VecD* below = row + (r - a);
        for (int c = a + 1; c < r; ++c) {
            const VecD f = row[c - a] * minus;
            x[c] = fma(f, x[a], x[c]);
            for (int d = c; d < r; ++d) below[d - c] = fma(f, row[d - a], below[d - c]);
            below += r - c;
        }
        row += r - a;
    }
    log_det = fma(exponent, broadcast<VecD>(kLog2), log_mantissa(product));
}

template <int RANK>
void log_match_rank(const LatentArrays& in, const double* log_constant, int64_t first, int64_t last, double* out) {
    constexpr int kRank = RANK > 0 ? RANK : kMaxRank;
    constexpr int kPacked = kRank * (kRank + 1) / 2;
    const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2;
    VecD A[kPacked], b[kRank], M[kPacked], x[kRank];
    for (int64_t start = first; start < last; start += L) {
        int64_t rows[L];
        for (int lane = 0; lane < L; ++lane) rows[lane] = start + lane < last ? start + lane : last - 1;
        gather(in.precision, p, rows, A);
        gather(in.shift, r, rows, b);
        for (int64_t k = 0; k < in.k; ++k) {
            const double *own = in.component_precision + k * p, *pull = in.component_shift + k * r;
            for (int e = 0; e < p; ++e) M[e] = A[e] + broadcast<VecD>(own[e]);
            for (int a = 0; a < r; ++a) x[a] = b[a] + broadcast<VecD>(pull[a]);
            VecD quadratic, log_det;
            eliminate<RANK>(M, x, r, quadratic, log_det);
            const VecD match = fma(broadcast<VecD>(0.5), VecD(quadratic - log_det), broadcast<VecD>(log_constant[k]));
            for (int lane = 0; lane < L && start + lane < last; ++lane) out[(start + lane) * in.k + k] = match[lane];
        }
    }
}

void log_match(const LatentArrays& in, const double* log_constant, int64_t first, int64_t last, double* out) {
    switch (in.r) {
#define BADAC_RANK(R)                                                \
    case R:                                                          \
        return log_match_rank<R>(in, log_constant, first, last, out);
        BADAC_RANK(1) BADAC_RANK(2) BADAC_RANK(3) BADAC_RANK(4) BADAC_RANK(5) BADAC_RANK(6) BADAC_RANK(7) BADAC_RANK(8)
        BADAC_RANK(9) BADAC_RANK(10) BADAC_RANK(11) BADAC_RANK(12)
#undef BADAC_RANK
        default:
            return log_match_rank<0>(in, log_constant, first, last, out);
    }
}

BADAC_INLINE int place(int r, int a, int c) { return a <= c ? a * r - a * (a - 1) / 2 + (c - a) : c * r - c * (c - 1) / 2 + (a - c); }

void sums(const LatentArrays& in, int64_t component, const int32_t* list, const double* weight, int64_t n_listed, double* count,
          double* first, double* second, double* spread) {
    const int r = in.r, p = in.p;
    VecD M[kMaxRank * (kMaxRank + 1) / 2], x[kMaxRank], column[kMaxRank], mean[kMaxRank];
    VecD sum_second[kMaxRank * (kMaxRank + 1) / 2], sum_spread[kMaxRank * (kMaxRank + 1) / 2], sum_first[kMaxRank];
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0);
    for (int e = 0; e < p; ++e) sum_second[e] = sum_spread[e] = zero;
    for (int a = 0; a < r; ++a) sum_first[a] = zero;
    const double *own = in.component_precision + component * p, *pull = in.component_shift + component * r;
    for (int64_t start = 0; start < n_listed; start += L) {
        int64_t rows[L];
        double shares[L];
        for (int lane = 0; lane < L; ++lane) {
            const bool present = start + lane < n_listed;
            rows[lane] = list[present ? start + lane : n_listed - 1];
            shares[lane] = present ? weight[start + lane] : 0.0;
            *count += shares[lane];
        }
        const VecD w = load<VecD>(shares);
        gather(in.precision, p, rows, M);
        gather(in.shift, r, rows, x);
        for (int e = 0; e < p; ++e) M[e] = M[e] + broadcast<VecD>(own[e]);
        for (int a = 0; a < r; ++a) x[a] = x[a] + broadcast<VecD>(pull[a]);
        // Sweep every pivot in place: M becomes minus its inverse.
        for (int a = 0; a < r; ++a) {
            const VecD inverse = one / M[place(r, a, a)], minus = zero - inverse;
            for (int c = 0; c < r; ++c) column[c] = M[place(r, a, c)];
            VecD* entry = M;
            for (int c = 0; c < r; ++c) {
                const VecD f = column[c] * minus;
                for (int d = c; d < r; ++d, ++entry)
                    if (c != a && d != a) *entry = fma(f, column[d], *entry);
            }
            for (int c = 0; c < r; ++c) M[place(r, a, c)] = column[c] * inverse;
            M[place(r, a, a)] = minus;
        }
        for (int a = 0; a < r; ++a) mean[a] = zero;
        const VecD* entry = M;
        for (int a = 0; a < r; ++a)
            for (int c = a; c < r; ++c, ++entry) {
                mean[a] = mean[a] - *entry * x[c];
                if (c != a) mean[c] = mean[c] - *entry * x[a];
            }
        entry = M;
        int e = 0;
        for (int a = 0; a < r; ++a) {
            const VecD weighted = w * mean[a];
            sum_first[a] = sum_first[a] + weighted;
            for (int c = a; c < r; ++c, ++entry, ++e) {
                const VecD covariance = zero - w * *entry;
                sum_spread[e] = sum_spread[e] + covariance;
                sum_second[e] = sum_second[e] + fma(weighted, mean[c], covariance);
            }
        }
    }
    for (int lane = 0; lane < L; ++lane) {
        for (int a = 0; a < r; ++a) first[a] += sum_first[a][lane];
        for (int e = 0; e < p; ++e) second[e] += sum_second[e][lane], spread[e] += sum_spread[e][lane];
    }
}

const LatentKernels kTable = {log_match, sums};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const LatentKernels* BADAC_JOIN(latent_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
