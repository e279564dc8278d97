// Points in the lanes, objects one after the other. Compiled once per instruction set; see simd.hpp for the rules.
#include "spread_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;

// The L numbers of row i from column `first` on; `beyond` stands for those that are not there.
BADAC_INLINE VecD row_of(const double* array, int64_t i, int64_t m, int64_t first, double beyond) {
    double lanes[L];
    for (int lane = 0; lane < L; ++lane) lanes[lane] = first + lane < m ? array[i * m + first + lane] : beyond;
    return load<VecD>(lanes);
}

void variance(const SpreadArrays& in, int64_t first, double* scratch) {
    Attention attention;
    const bool whole = first + L <= in.m;
    const VecD zero = broadcast<VecD>(0.0), one = broadcast<VecD>(1.0), tiny = broadcast<VecD>(1e-300);
    const VecD least = row_of(in.least, 0, in.m, first, 1.0);
    VecD guess = least;
    for (int step = 0; step < in.steps; ++step) {
        VecD total = zero, sum = zero;
        for (int64_t i = 0; i < in.n; ++i) {
            attention.spent(8 * L);
            const int64_t at = i * in.m + first;
            const VecD v = whole ? load<VecD>(in.values + at) : row_of(in.values, i, in.m, first, 0.0);
            const VecD s = whole ? load<VecD>(in.variance + at) : row_of(in.variance, i, in.m, first, HUGE_VAL);
            const VecD w = one / (guess + s);
            total = total + w;
            sum = fma(w, v, sum);
            store(scratch + i * L, w);
        }
        total = larger(total, tiny);
        const VecD mean = sum / total;
        VecD squared = zero, misfit = zero;
        for (int64_t i = 0; i < in.n; ++i) {
            attention.spent(4 * L);
            const VecD v = whole ? load<VecD>(in.values + i * in.m + first) : row_of(in.values, i, in.m, first, 0.0);
            const VecD w = load<VecD>(scratch + i * L), residual = w * (v - mean);
            squared = fma(w, w, squared);
            misfit = fma(residual, residual, misfit);
        }
        guess = larger(VecD(guess + (misfit - total) / larger(squared, tiny)), least);
    }
    for (int lane = 0; lane < L && first + lane < in.m; ++lane) in.out[first + lane] = guess[lane];
}

const SpreadKernels kTable = {L, variance};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const SpreadKernels* BADAC_JOIN(spread_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
