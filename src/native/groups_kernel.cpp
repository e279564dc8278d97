// Distances of places to centres, centres or places in the lanes. Compiled once per instruction set; see simd.hpp for the rules.
#include "groups_kernel.hpp"

#include <math.h>

#include "heed.hpp"
#include "simd.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr int L = Simd<double>::lanes;

void nearest(const CentreArrays& in, const double* places, int64_t first, int64_t last, int64_t* label) {
    Attention attention;
    double lanes[L];
    for (int lane = 0; lane < L; ++lane) lanes[lane] = lane;
    const VecD number = load<VecD>(lanes);
    for (int64_t i = first; i < last; ++i) {
        attention.spent(in.k * (in.r + 2));
        const double* place = places + i * in.r;
        VecD least = broadcast<VecD>(HUGE_VAL), which = broadcast<VecD>(0.0);
        for (int64_t c = 0; c < in.k; c += L) {
            VecD distance = broadcast<VecD>(0.0);
            for (int a = 0; a < in.r; ++a) {
                const VecD away = broadcast<VecD>(place[a]) - load<VecD>(in.centres + a * in.k + c);
                distance = fma(away, away, distance);
            }
            const auto closer = greater(least, distance);
            least = select(closer, distance, least), which = select(closer, VecD(number + broadcast<VecD>(double(c))), which);
        }
        double shortest = least[0], found = which[0];
        for (int lane = 1; lane < L; ++lane)
            if (least[lane] < shortest || (least[lane] == shortest && which[lane] < found)) shortest = least[lane], found = which[lane];
        label[i] = int64_t(found);
    }
}

void closer(const double* turned, const double* centre, int64_t n, int r, int64_t first, int64_t last, double* distance) {
    Attention attention;
    for (int64_t i = first; i < last; i += L) {
        attention.spent(L * (r + 2));
        const int here = int(last - i < L ? last - i : L);
        if (here == L) {
            VecD sum = broadcast<VecD>(0.0);
            for (int a = 0; a < r; ++a) {
                const VecD away = load<VecD>(turned + a * n + i) - broadcast<VecD>(centre[a]);
                sum = fma(away, away, sum);
            }
            const VecD before = load<VecD>(distance + i);
            store(distance + i, select(greater(before, sum), sum, before));
            continue;
        }
        for (int lane = 0; lane < here; ++lane) {
            double sum = 0.0;
            for (int a = 0; a < r; ++a) sum += (turned[a * n + i + lane] - centre[a]) * (turned[a * n + i + lane] - centre[a]);
            if (sum < distance[i + lane]) distance[i + lane] = sum;
        }
    }
}

const GroupKernels kTable = {nearest, closer};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const GroupKernels* BADAC_JOIN(group_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
