// Weights of points and their products, some objects at a time. Compiled once per instruction set; see simd.hpp for the rules.
#include "moments_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "tiles.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;

// L points of an object: values (0 where missing), their noise variance (0 there too) and weight.
struct Points {
    VecD value, variance, weight;
};

// Where the vectors of a row begin: the last one has some points of the one before again, if there are enough for a whole one.
BADAC_INLINE int64_t begin_of(const MomentArrays& in, int64_t j) { return j + L <= in.m || in.m < L ? j : in.m - L; }

BADAC_INLINE Points bring(const MomentArrays& in, int64_t i, int64_t at) {
    const VecD zero = broadcast<VecD>(0.0);
    VecD v, s;
    if (in.m >= L) {
        v = load<VecD>(in.values + i * in.m + at), s = load<VecD>(in.sigma + i * in.m + at);
    } else {
        double lanes[2][L];
        for (int lane = 0; lane < L; ++lane) {
            const bool inside = lane < in.m;
            lanes[0][lane] = inside ? in.values[i * in.m + lane] : 0.0, lanes[1][lane] = inside ? in.sigma[i * in.m + lane] : HUGE_VAL;
        }
        v = load<VecD>(lanes[0]), s = load<VecD>(lanes[1]);
    }
    const VecD spread = load<VecD>(in.spread + at), variance = s * s, weight = spread / (spread + variance);
    // A comparison with NaN is false, and an infinite variance leaves no weight.
    const auto there = greater(select(greater(VecD(v * v), broadcast<VecD>(-1.0)), weight, zero), zero);
    return {select(there, v, zero), select(there, variance, zero), select(there, weight, zero)};
}

int64_t scratch(const MomentArrays& in) { return in.chunk() * (in.points + in.points / 2); }

void sums(const MomentArrays& in, int64_t first, int64_t last, double* out) {
    Attention attention;
    double lanes[L];
    for (int lane = 0; lane < L; ++lane) lanes[lane] = in.m < L || lane >= L - in.m % L ? 1.0 : 0.0;
    const VecD zero = broadcast<VecD>(0.0);
    // Points of the last vector that the one before does not have.
    const auto fresh = greater(load<VecD>(lanes), zero);
    for (int64_t i = first; i < last; ++i) {
        attention.spent(8 * in.m);
        for (int64_t j = 0; j < in.m; j += L) {
            const int64_t from = begin_of(in, j);
            const Points at = bring(in, i, from);
            const VecD weight = from == j ? at.weight : select(fresh, at.weight, zero), square = weight * weight;
            double *total = out + from, *sum = total + in.points, *noise = sum + in.points, *squared = noise + in.points;
            store(total, VecD(load<VecD>(total) + weight));
            store(sum, fma(weight, at.value, load<VecD>(sum)));
            store(noise, fma(square, at.variance, load<VecD>(noise)));
            store(squared, VecD(load<VecD>(squared) + square));
        }
    }
}

void products(const MomentArrays& in, int64_t first, int64_t last, double* memory, double* out) {
    Attention attention;
    double *residual = memory, *together = out + in.points * in.points;
    // Weights are all of one sign and at most one: a product of theirs loses nothing that counts in single precision.
    float* weight = reinterpret_cast<float*>(memory + in.chunk() * in.points);
    for (int64_t start = first; start < last; start += in.chunk()) {
        const int64_t count = last - start < in.chunk() ? last - start : in.chunk();
        for (int64_t i = 0; i < count; ++i) {
            // What only fills the last vectors was 0 from the beginning, and stays.
            double* row = residual + i * in.points;
            float* own = weight + i * in.points;
            for (int64_t j = 0; j < in.m; j += L) {
                const int64_t from = begin_of(in, j);
                const Points at = bring(in, start + i, from);
                store(row + from, VecD(at.weight * (at.value - load<VecD>(in.mean + from))));
                for (int lane = 0; lane < L; ++lane) own[from + lane] = float(at.weight[lane]);
            }
        }
        attention.spent(count * in.points * (in.points + 8));
        add_square(residual, in.points, count, out);
        add_square(weight, in.points, count, together);
    }
}

const MomentKernels kTable = {scratch, sums, products};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const MomentKernels* BADAC_JOIN(moment_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
