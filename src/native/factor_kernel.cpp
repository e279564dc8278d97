// Products of objects and factors by tiles of registers. Compiled once per instruction set; see simd.hpp for the rules.
#include "factor_kernel.hpp"

#include "heed.hpp"
#include "tiles.hpp"
#include "weighing.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// Memory of one chunk of objects, rows of each padded with zeros.
struct Chunk {
    int64_t points, packed, few, moments_width;
    double *weight, *scaled, *residual, *leverage;  // (chunk, points)
    double *precision, *shift;           // (chunk, packed), (chunk, whole r)
    double *moments, *spread;            // (chunk, moments), (chunk, packed)
    double* offset;                      // (chunk)

    static int64_t size(const FactorArrays& in) {
        return kFactorChunk * (4 * whole(in.m) + 2 * whole(in.p) + whole(in.r) + whole(1 + in.r + in.p) + 1);
    }
    Chunk(const FactorArrays& in, double* memory)
        : points(whole(in.m)), packed(whole(in.p)), few(whole(in.r)), moments_width(whole(1 + in.r + in.p)) {
        weight = memory;
        scaled = weight + kFactorChunk * points;
        residual = scaled + kFactorChunk * points;
        leverage = residual + kFactorChunk * points;
        precision = leverage + kFactorChunk * points;
        shift = precision + kFactorChunk * packed;
        moments = shift + kFactorChunk * few;
        spread = moments + kFactorChunk * moments_width;
        offset = spread + kFactorChunk * packed;
    }
};

// Weights of objects first <= i < last, at most a chunk of them; rows beyond, to a multiple of 8, are 0.
inline int64_t weigh(const FactorArrays& in, int64_t first, int64_t last, const Chunk& chunk) {
    const int64_t count = last - first, rows = whole(count);
    for (int64_t i = 0; i < count; ++i)
        chunk.offset[i] = weigh_object<true>({in.values + (first + i) * in.m, in.sigma + (first + i) * in.m, in.mean, in.psi, in.m},
                                             chunk.weight + i * chunk.points, chunk.scaled + i * chunk.points);
    // What only fills the last vectors of points, and the last tile of objects, is 0.
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = i < count ? (in.m + L - 1) / L * L : 0; j < chunk.points; ++j) chunk.weight[i * chunk.points + j] = chunk.scaled[i * chunk.points + j] = 0.0;
    return rows;
}

// As `weigh`, with their precisions and shifts.
inline int64_t bring(const FactorArrays& in, int64_t first, int64_t last, const Chunk& chunk) {
    const int64_t rows = weigh(in, first, last, chunk);
    product<false>(Left<double>{chunk.weight, chunk.points, 1}, rows, in.outer, chunk.packed, chunk.packed, in.m, chunk.precision);
    product<false>(Left<double>{chunk.scaled, chunk.points, 1}, rows, in.factors, chunk.few, chunk.few, in.m, chunk.shift);
    return rows;
}

// Posteriors under N(0, I): moments (1, E z, E z z') and covariances of each object; the sum of their log evidence.
template <int RANK>
double posteriors(const FactorArrays& in, int64_t count, int64_t rows, const Chunk& chunk) {
    constexpr int kRank = RANK > 0 ? RANK : kMaxRank;
    const int r = RANK > 0 ? RANK : in.r, p = r * (r + 1) / 2;
    VecD M[kRank * (kRank + 1) / 2], x[kRank], m[kRank], log_det;
    double evidence = 0.0;
    for (int64_t start = 0; start < rows; start += L) {
        for (int e = 0; e < p; ++e) {
            double lanes[L];
            for (int lane = 0; lane < L; ++lane) lanes[lane] = chunk.precision[(start + lane) * chunk.packed + e];
            M[e] = load<VecD>(lanes);
        }
        for (int a = 0; a < r; ++a) {
            double lanes[L];
            for (int lane = 0; lane < L; ++lane) lanes[lane] = chunk.shift[(start + lane) * chunk.few + a];
            x[a] = load<VecD>(lanes);
            M[place(r, a, a)] = M[place(r, a, a)] + broadcast<VecD>(1.0);
        }
        invert<RANK>(M, x, r, m, log_det);
        VecD pulled = broadcast<VecD>(0.0);
        for (int a = 0; a < r; ++a) pulled = fma(x[a], m[a], pulled);
        for (int lane = 0; lane < L; ++lane) {
            const int64_t i = start + lane;
            // Rows that only fill the tile have no moments.
            const bool present = i < count;
            double *moments = chunk.moments + i * chunk.moments_width, *spread = chunk.spread + i * chunk.packed;
            if (present) evidence -= 0.5 * (chunk.offset[i] - pulled[lane] + log_det[lane]);
            moments[0] = present ? 1.0 : 0.0;
            for (int a = 0; a < r; ++a) moments[1 + a] = present ? m[a][lane] : 0.0;
            for (int a = 0, e = 0; a < r; ++a)
                for (int c = a; c < r; ++c, ++e) {
                    spread[e] = present ? M[e][lane] : 0.0;
                    moments[1 + r + e] = spread[e] + moments[1 + a] * moments[1 + c];
                }
            for (int64_t e = 1 + r + p; e < chunk.moments_width; ++e) moments[e] = 0.0;
            for (int64_t e = p; e < chunk.packed; ++e) spread[e] = 0.0;
        }
    }
    return evidence;
}

double posteriors_of(const FactorArrays& in, int64_t count, int64_t rows, const Chunk& chunk) {
#define BADAC_RANK(R) \
    case R:           \
        return posteriors<R>(in, count, rows, chunk);
    switch (in.r) {
        BADAC_RANKS(BADAC_RANK)
        default: return posteriors<0>(in, count, rows, chunk);
    }
}

int64_t scratch(const FactorArrays& in) { return Chunk::size(in); }

void project(const FactorArrays& in, int64_t first, int64_t last, double* memory, double* precision, double* shift, double* offset) {
    Attention attention;
    const Chunk chunk(in, memory);
    for (int64_t start = first; start < last; start += kFactorChunk) {
        const int64_t end = last - start < kFactorChunk ? last : start + kFactorChunk;
        attention.spent((end - start) * in.m * (in.p + in.r + 8));
        bring(in, start, end, chunk);
        for (int64_t i = 0; i < end - start; ++i) {
            offset[start + i] = chunk.offset[i];
            for (int e = 0; e < in.p; ++e) precision[(start + i) * in.p + e] = chunk.precision[i * chunk.packed + e];
            for (int a = 0; a < in.r; ++a) shift[(start + i) * in.r + a] = chunk.shift[i * chunk.few + a];
        }
    }
}

void sums(const FactorArrays& in, int64_t first, int64_t last, double* memory, double* out) {
    Attention attention;
    const Chunk chunk(in, memory);
    const FactorSumsLayout at(in);
    for (int64_t start = first; start < last; start += kFactorChunk) {
        const int64_t end = last - start < kFactorChunk ? last : start + kFactorChunk;
        attention.spent((end - start) * in.m * (3 * in.p + 4 * in.r + 16));
        const int64_t rows = bring(in, start, end, chunk);
        out[at.evidence()] += posteriors_of(in, end - start, rows, chunk);
        const Left<double> by_point{chunk.weight, 1, chunk.points};
        product<true>(by_point, chunk.points, chunk.moments, chunk.moments_width, at.moments, rows, out + at.normal());
        product<true>(Left<double>{chunk.scaled, 1, chunk.points}, chunk.points, chunk.moments, chunk.moments_width, at.few, rows, out + at.right());
        // What the expected curve leaves of each value, times its weight.
        product<false>(Left<double>{chunk.moments + 1, chunk.moments_width, 1}, rows, in.turned, chunk.points, chunk.points, in.r, chunk.residual);
        for (int64_t j = 0; j < chunk.points; j += L) {
            VecD misfit = load<VecD>(out + at.misfit() + j), squared = load<VecD>(out + at.squared() + j);
            for (int64_t i = 0; i < rows; ++i) {
                const int64_t e = i * chunk.points + j;
                const VecD w = load<VecD>(chunk.weight + e), left = w * load<VecD>(chunk.residual + e) - load<VecD>(chunk.scaled + e);
                const VecD square = w * w;
                misfit = fma(left, left, misfit);
                squared = squared + square;
                store(chunk.weight + e, square);
            }
            store(out + at.misfit() + j, misfit), store(out + at.squared() + j, squared);
        }
        product<true>(by_point, chunk.points, chunk.spread, chunk.packed, at.packed, rows, out + at.spread());
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t e = 0; e < at.moments; e += L)
                store(out + at.total() + e, VecD(load<VecD>(out + at.total() + e) + load<VecD>(chunk.moments + i * at.moments + e)));
    }
}

// Moments (1, z, z z') of objects at positions z, rows beyond them and columns that only fill a vector are 0.
inline void place_at(const FactorArrays& in, const double* position, int64_t count, int64_t rows, const Chunk& chunk) {
    for (int64_t i = 0; i < rows; ++i) {
        double* moments = chunk.moments + i * chunk.moments_width;
        const double *z = position + i * in.r, present = i < count ? 1.0 : 0.0;
        int64_t e = 0;
        moments[e++] = present;
        for (int a = 0; a < in.r; ++a) moments[e++] = i < count ? z[a] : 0.0;
        for (int a = 0; a < in.r; ++a)
            for (int c = a; c < in.r; ++c) moments[e++] = i < count ? z[a] * z[c] : 0.0;
        for (; e < chunk.moments_width; ++e) moments[e] = 0.0;
    }
}

void normal(const LeverageArrays& of, int64_t first, int64_t last, double* memory, double* out) {
    Attention attention;
    const FactorArrays& in = of.factor;
    const Chunk chunk(in, memory);
    for (int64_t start = first; start < last; start += kFactorChunk) {
        const int64_t end = last - start < kFactorChunk ? last : start + kFactorChunk;
        attention.spent((end - start) * in.m * (in.p + in.r + 8));
        const int64_t rows = weigh(in, start, end, chunk);
        place_at(in, of.position + start * in.r, end - start, rows, chunk);
        product<true>(Left<double>{chunk.weight, 1, chunk.points}, chunk.points, chunk.moments, chunk.moments_width, chunk.moments_width, rows, out);
    }
}

void leverage(const LeverageArrays& of, int64_t first, int64_t last, double* memory, double* out) {
    Attention attention;
    const FactorArrays& in = of.factor;
    const Chunk chunk(in, memory);
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0), most = broadcast<VecD>(of.largest);
    for (int64_t start = first; start < last; start += kFactorChunk) {
        const int64_t end = last - start < kFactorChunk ? last : start + kFactorChunk;
        attention.spent((end - start) * in.m * (in.p + 2 * in.r + 16));
        const int64_t rows = weigh(in, start, end, chunk);
        place_at(in, of.position + start * in.r, end - start, rows, chunk);
        const int64_t moments = 1 + in.r + in.p;
        product<false>(Left<double>{chunk.moments, chunk.moments_width, 1}, rows, of.inverse, chunk.points, chunk.points, moments, chunk.leverage);
        product<false>(Left<double>{chunk.moments + 1, chunk.moments_width, 1}, rows, in.turned, chunk.points, chunk.points, in.r, chunk.residual);
        for (int64_t i = 0; i < end - start; ++i) {
            VecD total = zero;
            for (int64_t e = i * chunk.points; e < (i + 1) * chunk.points; e += L) {
                const VecD w = load<VecD>(chunk.weight + e), left = load<VecD>(chunk.scaled + e) - w * load<VecD>(chunk.residual + e);
                const VecD found = larger(VecD(w * load<VecD>(chunk.leverage + e)), zero);
                const VecD own = select(greater(found, most), most, found), rest = one - own;
                const auto seen = greater(w, zero);
                // 1 / (1 - l)^2 - 1 without the loss of what is common to both.
                const VecD growth = own * (rest + one) / (rest * rest);
                total = total + select(seen, VecD(left * left * growth / select(seen, w, one)), zero);
            }
            double sum = 0.0;
            for (int lane = 0; lane < L; ++lane) sum += total[lane];
            out[start + i] = 0.5 * sum;
        }
    }
}

void multiply(const ProductArrays& in, int64_t first, int64_t last, double* memory) {
    Attention attention;
    const int64_t width = whole(in.s);
    double *found = memory, *last_rows = memory + kFactorWhole * width;
    for (int64_t start = first; start < last; start += kFactorWhole) {
        const int64_t count = last - start < kFactorWhole ? last - start : kFactorWhole;
        attention.spent(count * in.m * in.s);
        const double* rows = in.left + start * in.m;
        if (count < kFactorWhole) {
            for (int64_t e = 0; e < kFactorWhole * in.m; ++e) last_rows[e] = e < count * in.m ? rows[e] : 0.0;
            rows = last_rows;
        }
        product<false>(Left<double>{rows, in.m, 1}, kFactorWhole, in.right, width, width, in.m, found);
        for (int64_t i = 0; i < count; ++i)
            for (int64_t e = 0; e < in.s; ++e) in.out[(start + i) * in.s + e] = found[i * width + e];
    }
}

const FactorKernels kTable = {scratch, project, sums, normal, leverage, multiply};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const FactorKernels* BADAC_JOIN(factor_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
