// Compiled once per instruction set; see rows_kernel.hpp for what is computed and simd.hpp for the rules.
#include "rows_kernel.hpp"

#include <math.h>

#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;
constexpr double kLeast = -1e300;

double log_sum(const double* terms, int64_t k) {
    const int64_t whole = k / L * L;
    VecD largest = broadcast<VecD>(-double(INFINITY)), numbers = broadcast<VecD>(0.0);
    for (int64_t c = 0; c < whole; c += L) {
        const VecD term = load<VecD>(terms + c);
        largest = larger(term, largest);
        // `larger` passes over what is no number in its first argument, and keeps it in its second.
        numbers = numbers + larger(broadcast<VecD>(0.0), term);
    }
    double top = -INFINITY, poison = 0.0;
    for (int i = 0; i < L; ++i) top = largest[i] > top ? largest[i] : top, poison += numbers[i];
    for (int64_t c = whole; c < k; ++c) {
        top = terms[c] > top ? terms[c] : top;
        if (terms[c] != terms[c]) poison = terms[c];
    }
    if (poison != poison) return poison;
    if (!isfinite(top)) return top;
    const VecD best = broadcast<VecD>(top);
    VecD sum = broadcast<VecD>(0.0);
    int64_t c = 0;
    for (; c + 4 * L <= whole; c += 4 * L) {
        VecD part[4];
        BADAC_UNROLL
        for (int i = 0; i < 4; ++i) part[i] = load<VecD>(terms + c + i * L) - best;
        exp_negative_of(part);
        sum = sum + ((part[0] + part[1]) + (part[2] + part[3]));
    }
    for (; c < whole; c += L) sum = sum + exp_negative(VecD(load<VecD>(terms + c) - best));
    double total = 0.0;
    for (int i = 0; i < L; ++i) total += sum[i];
    if (c < k) {
        VecD rest = broadcast<VecD>(kLeast);
        for (int i = 0; c + i < k; ++i) rest[i] = terms[c + i] - top;
        rest = exp_negative(rest);
        for (int i = 0; c + i < k; ++i) total += rest[i];
    }
    return top + ::log(total);
}

constexpr int64_t kFew = 8;  // terms: of fewer, one row a lane is quicker than one term a lane

// The same of rows first <= i < last, one row a lane where they have few terms.
void log_sums(const double* terms, int64_t k, int64_t first, int64_t last, double* out) {
    int64_t i = first;
    if (k >= 1 && k <= kFew)
        for (; i < last; i += L) {
            VecD term[kFew];
            for (int64_t c = 0; c < k; ++c) {
                double lanes[L];
                for (int lane = 0; lane < L; ++lane) lanes[lane] = terms[(i + lane < last ? i + lane : last - 1) * k + c];
                term[c] = load<VecD>(lanes);
            }
            VecD top = term[0], numbers = broadcast<VecD>(0.0), sum = numbers, exponent = numbers;
            for (int64_t c = 1; c < k; ++c) top = larger(term[c], top);
            for (int64_t c = 0; c < k; ++c) {
                // 0 where top and term are finite, no number where one is not.
                numbers = numbers + (term[c] - term[c]) + (top - top);
                sum = sum + exp_negative(VecD(term[c] - top));
            }
            const VecD mantissa = take_exponent<double>(sum, exponent);
            const VecD found = top + fma(exponent, broadcast<VecD>(0.69314718055994530942), log_mantissa(mantissa));
            for (int lane = 0; lane < L && i + lane < last; ++lane)
                out[i + lane] = numbers[lane] == 0.0 ? found[lane] : log_sum(terms + (i + lane) * k, k);
        }
    for (; i < last; ++i) out[i] = log_sum(terms + i * k, k);
}

double loss(const double* outputs, const double* weights, const double* bias, int64_t label, int64_t o, int64_t k, double* work, double* slope,
            double* by_output) {
    const int64_t whole = k / L * L;
    VecD largest = broadcast<VecD>(kLeast);
    for (int64_t c = 0; c < whole; c += L) {
        VecD joint = load<VecD>(bias + c);
        for (int64_t a = 0; a < o; ++a) joint = fma(broadcast<VecD>(weights[a]), load<VecD>(outputs + a * k + c), joint);
        store(work + c, joint);
        largest = larger(joint, largest);
    }
    double top = kLeast;
    for (int i = 0; i < L; ++i) top = largest[i] > top ? largest[i] : top;
    for (int64_t c = whole; c < k; ++c) {
        double joint = bias[c];
        for (int64_t a = 0; a < o; ++a) joint += weights[a] * outputs[a * k + c];
        work[c] = joint, top = joint > top ? joint : top;
    }
    for (int64_t c = k; c % L; ++c) work[c] = kLeast;
    const double own = work[label];
    VecD sum = broadcast<VecD>(0.0);
    for (int64_t c = 0; c < k; c += L) {
        const VecD share = exp_negative(VecD(load<VecD>(work + c) - broadcast<VecD>(top)));
        store(work + c, share), sum = sum + share;
    }
    double total = 0.0;
    for (int i = 0; i < L; ++i) total += sum[i];
    for (int64_t c = 0; c < k; ++c) slope[c] = work[c] / total;
    slope[label] -= 1.0;
    for (int64_t a = 0; a < o; ++a) {
        const double* output = outputs + a * k;
        VecD part = broadcast<VecD>(0.0);
        for (int64_t c = 0; c < whole; c += L) part = fma(load<VecD>(slope + c), load<VecD>(output + c), part);
        double all = 0.0;
        for (int i = 0; i < L; ++i) all += part[i];
        for (int64_t c = whole; c < k; ++c) all += slope[c] * output[c];
        by_output[a] = all;
    }
    return top + ::log(total) - own;
}

const RowsKernels kernels = {L, log_sums, loss};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN(a, b) a##b
#define BADAC_NAME(a, b) BADAC_JOIN(a, b)
const RowsKernels* BADAC_NAME(rows_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kernels; }

}  // namespace badac
