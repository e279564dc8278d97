// Random curves integrated out, one object a lane: points are weighed, meet the features, and what is left meets the class's mixture before
// anything goes back to memory. Compiled once per instruction set; see simd.hpp for the rules.
#include "curves_kernel.hpp"

#include <math.h>

#include "grid_lanes.hpp"
#include "heed.hpp"
#include "integrate_out.hpp"
#include "latent_matches.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

// Vectors of objects and columns whose sums stay in registers: 24 of 32, or 12 of 16.
constexpr int kVectors = 2, kTile = L >= 8 ? 12 : 6;

int64_t tiles(int columns) { return (columns + kTile - 1) / kTile; }

// sums (columns, kVectors) of weight (m, kVectors) times right (tiles, m, kTile).
void products(const VecD* weight, const double* right, int columns, int m, VecD* sums) {
    for (int64_t t = 0; t < tiles(columns); ++t, right += int64_t(m) * kTile, sums += kTile * kVectors) {
        VecD total[kTile][kVectors];
        BADAC_UNROLL for (int c = 0; c < kTile; ++c)
            BADAC_UNROLL for (int v = 0; v < kVectors; ++v) total[c][v] = broadcast<VecD>(0.0);
        for (int j = 0; j < m; ++j) {
            VecD w[kVectors];
            BADAC_UNROLL for (int v = 0; v < kVectors; ++v) w[v] = weight[j * kVectors + v];
            BADAC_UNROLL for (int c = 0; c < kTile; ++c) {
                const VecD feature = broadcast<VecD>(right[j * kTile + c]);
                BADAC_UNROLL for (int v = 0; v < kVectors; ++v) total[c][v] = fma(feature, w[v], total[c][v]);
            }
        }
        BADAC_UNROLL for (int c = 0; c < kTile; ++c)
            BADAC_UNROLL for (int v = 0; v < kVectors; ++v) sums[c * kVectors + v] = total[c][v];
    }
}

// What objects say of dimensions: precisions, pulls and a constant, kVectors apart.
struct Reduced {
    const VecD *sums, *shift;
    VecD offset, unit;
};

// Integrate the features of one alternative out; what is left are A, b of the class's own dimensions and the offset.
const VecD* without(const Reduced& in, const CurveAlternative& one, VecD* M, VecD* x, VecD& offset) {
    VecD scale[kMaxCurveSize];
    for (int a = 0; a < one.size; ++a) {
        scale[a] = a < one.columns ? in.unit * broadcast<VecD>(one.size_of[a]) : broadcast<VecD>(1.0);
        x[a] = in.shift[one.chosen[a] * kVectors] * scale[a];
    }
    put_together(in.sums, kVectors, one.first, one.second, scale, one.columns, one.size, M);
    offset = in.offset;
    return integrate_out(M, x, one.columns, one.size, offset);
}

template <int RANK>
BADAC_INLINE VecD matched(const LatentArrays& mixture, const VecD* A, const VecD* b, Attention& attention, double* matches) {
    all_matches<RANK>(mixture, A, b, attention, matches);
    return log_sum(matches, mixture.k);
}

VecD matched_by_rank(const LatentArrays& mixture, const VecD* A, const VecD* b, Attention& attention, double* matches) {
#define BADAC_RANK(R) \
    case R:           \
        return matched<R>(mixture, A, b, attention, matches);
    switch (mixture.r) {
        BADAC_RANKS(BADAC_RANK)
        default: return matched<0>(mixture, A, b, attention, matches);
    }
#undef BADAC_RANK
}

int64_t scratch(const CurveArrays& in) {
    return L * (kVectors * (2 * int64_t(in.points.m) + (tiles(in.sums) + tiles(in.all)) * kTile) + in.mixture.k + in.alternatives);
}

void log_evidence(const CurveArrays& in, int64_t first, int64_t last, double* memory) {
    const int m = in.points.m;
    VecD* weight = reinterpret_cast<VecD*>(memory);
    VecD *scaled = weight + kVectors * m, *sums = scaled + kVectors * m, *shift = sums + kVectors * tiles(in.sums) * kTile;
    double *matches = reinterpret_cast<double*>(shift + kVectors * tiles(in.all) * kTile), *found = matches + in.mixture.k * L;
    VecD M[kMaxCurveSize * (kMaxCurveSize + 1) / 2], x[kMaxCurveSize], offset;
    const VecD half = broadcast<VecD>(0.5), one = broadcast<VecD>(1.0), least = broadcast<VecD>(1e-300);
    const VecD log_count = broadcast<VecD>(log(double(in.alternatives)));
    Attention attention;
    for (int64_t start = first; start < last; start += kVectors * L) {
        LaneSums own[kVectors];
        for (int v = 0; v < kVectors; ++v) {
            int64_t rows[L];
            lane_rows(in.points, start + v * L, last, rows);
            weigh_lanes<true>(in.points, rows, kVectors, weight + v, scaled + v, own[v]);
        }
        attention.spent(kVectors * int64_t(m) * (40 + in.sums + in.all));
        products(weight, in.products, in.sums, m, sums);
        products(scaled, in.columns, in.all, m, shift);
        for (int v = 0; v < kVectors && start + v * L < last; ++v) {
            const VecD variance = larger(own[v].count, one) / larger(own[v].precision, least);
            const VecD unit = root(fma(broadcast<VecD>(in.share), variance, broadcast<VecD>(in.base)));
            const Reduced reduced{sums + v, shift + v, own[v].offset, unit};
            for (int which = 0; which < in.alternatives; ++which) {
                const CurveAlternative& alternative = in.alternative[which];
                attention.spent(int64_t(alternative.columns) * alternative.size * alternative.size / 2);
                const VecD* A = without(reduced, alternative, M, x, offset);
                VecD evidence = broadcast<VecD>(0.0) - half * offset;
                if (in.mixture.r > 0) evidence = evidence + matched_by_rank(in.mixture, A, x + alternative.columns, attention, matches);
                store(found + which * L, evidence);
            }
            const VecD mean = log_sum(found, in.alternatives) - log_count;
            for (int lane = 0; lane < L && start + v * L + lane < last; ++lane) in.out[start + v * L + lane] = mean[lane];
        }
    }
}

const CurvesKernels kTable = {kTile, scratch, log_evidence};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const CurvesKernels* BADAC_JOIN(curves_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
