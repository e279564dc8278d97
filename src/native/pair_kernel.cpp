// The inner loops of the pair kernel. Compiled once per instruction set; see simd.hpp for the rules that follow from that.
#include "pair_kernel.hpp"

#include <math.h>

#include "vmath.hpp"

namespace badac {
namespace BADAC_LEVEL {
namespace {

constexpr double kLog2 = 0.69314718055994530942;
constexpr int kVectors = 2;  // vectors of curves in a tile; with two objects this makes four independent chains

// Whether num/den (num alone if errors are shared) is above the object's limit for all curves and objects of a tile. More points
// only add to it.
template <class T, int OBJECTS, bool SHARED, class V>
BADAC_INLINE bool all_above(const V (&num)[OBJECTS][kVectors], const V (&den)[OBJECTS][kVectors], const T* limits) {
    unsigned above = (1u << Simd<T>::lanes) - 1u;
    for (int o = 0; o < OBJECTS; ++o) {
        const V limit = broadcast<V>(limits[o]);
        for (int c = 0; c < kVectors; ++c) above &= lanes_set(greater(num[o][c], SHARED ? limit : V(limit * den[o][c])));
    }
    return above == (1u << Simd<T>::lanes) - 1u;
}

// sum_j r_j^2 / v_j and prod_j v_j as a fraction, point by point: num/den + r^2/v = (num v + r^2 den) / (den v). One division and
// one logarithm then serve a whole group of points, and a pair costs four multiplications a point. The fraction goes out as it
// is: most pairs need neither the division nor the logarithm (see `finish`).
template <class T, int OBJECTS>
void score_general(const ObjectPack<T>& pack, const T* tile, T* nums, T* dens, ptrdiff_t stride) {
    typedef typename Simd<T>::Vec V;
    constexpr int L = Simd<T>::lanes, W = kVectors * L;
    V num[OBJECTS][kVectors], den[OBJECTS][kVectors];
    const int32_t* point = pack.point;
    const T* object = pack.data;
    const auto add_points = [&](const int32_t* end) BADAC_LAMBDA_INLINE {
        for (; point < end; ++point, object += 2 * OBJECTS) {
            const T* curve = tile + size_t(*point) * (2 * W);
            V y[kVectors], b[kVectors];
            for (int c = 0; c < kVectors; ++c) {
                y[c] = load<V>(curve + c * L);
                b[c] = load<V>(curve + W + c * L);
            }
            for (int o = 0; o < OBJECTS; ++o) {
                const V d = broadcast<V>(object[o]), a = broadcast<V>(object[OBJECTS + o]);
                for (int c = 0; c < kVectors; ++c) {
                    const V r = d - y[c], v = a + b[c];
                    num[o][c] = fma(num[o][c], v, V((r * r) * den[o][c]));
                    den[o][c] = den[o][c] * v;
                }
            }
        }
    };
    for (int o = 0; o < OBJECTS; ++o)
        for (int c = 0; c < kVectors; ++c) {
            num[o][c] = broadcast<V>(T(0));
            den[o][c] = broadcast<V>(T(1));
        }
    if (pack.n_groups == 1)
        for (int check : pack.check) {
            if (check == 0) break;
            add_points(pack.point + check);
            if (!all_above<T, OBJECTS, false>(num, den, pack.limit)) continue;
            for (int o = 0; o < OBJECTS; ++o)
                for (int c = 0; c < kVectors; ++c) {
                    store(nums + o * stride + c * L, broadcast<V>(T(HUGE_VAL)));
                    store(dens + o * stride + c * L, broadcast<V>(T(1)));
                }
            return;
        }
    add_points(pack.point + pack.group_end[0]);
    if (pack.n_groups > 1) {  // rare: variances so far apart that their product leaves the range of T
        V chi2[OBJECTS][kVectors], exponent[OBJECTS][kVectors];
        for (int o = 0; o < OBJECTS; ++o)
            for (int c = 0; c < kVectors; ++c) chi2[o][c] = exponent[o][c] = broadcast<V>(T(0));
        for (int g = 1;; ++g) {
            for (int o = 0; o < OBJECTS; ++o)
                for (int c = 0; c < kVectors; ++c) {
                    chi2[o][c] = chi2[o][c] + num[o][c] / den[o][c];
                    den[o][c] = take_exponent<T>(den[o][c], exponent[o][c]);  // the mantissa starts the next group
                }
            if (g == pack.n_groups) break;
            for (int o = 0; o < OBJECTS; ++o)
                for (int c = 0; c < kVectors; ++c) num[o][c] = broadcast<V>(T(0));
            add_points(pack.point + pack.group_end[g]);
        }
        for (int o = 0; o < OBJECTS; ++o)
            for (int c = 0; c < kVectors; ++c) {
                num[o][c] = chi2[o][c] + fma(exponent[o][c], broadcast<V>(T(kLog2)), log_mantissa(den[o][c]));
                den[o][c] = broadcast<V>(T(1));
            }
    }
    for (int o = 0; o < OBJECTS; ++o)
        for (int c = 0; c < kVectors; ++c) {
            store(nums + o * stride + c * L, num[o][c]);
            store(dens + o * stride + c * L, den[o][c]);
        }
}

// sum_j w_j r_j^2 with the object's own weights: no square is expanded, so nothing cancels.
template <class T, int OBJECTS>
void score_shared(const ObjectPack<T>& pack, const T* tile, T* nums, T*, ptrdiff_t stride) {
    typedef typename Simd<T>::Vec V;
    constexpr int L = Simd<T>::lanes, W = kVectors * L;
    V chi2[OBJECTS][kVectors];
    for (int o = 0; o < OBJECTS; ++o)
        for (int c = 0; c < kVectors; ++c) chi2[o][c] = broadcast<V>(T(0));
    const T* object = pack.data;
    const int32_t* point = pack.point;
    const auto add_points = [&](const int32_t* end) BADAC_LAMBDA_INLINE {
        for (; point < end; ++point, object += 2 * OBJECTS) {
            const T* curve = tile + size_t(*point) * W;
            for (int o = 0; o < OBJECTS; ++o) {
                const V d = broadcast<V>(object[o]), w = broadcast<V>(object[OBJECTS + o]);
                for (int c = 0; c < kVectors; ++c) {
                    const V r = d - load<V>(curve + c * L);
                    chi2[o][c] = fma(V(r * w), r, chi2[o][c]);
                }
            }
        }
    };
    for (int check : pack.check) {
        if (check == 0) break;
        add_points(pack.point + check);
        if (!all_above<T, OBJECTS, true>(chi2, chi2, pack.limit)) continue;
        for (int o = 0; o < OBJECTS; ++o)
            for (int c = 0; c < kVectors; ++c) store(nums + o * stride + c * L, broadcast<V>(T(HUGE_VAL)));
        return;
    }
    add_points(pack.point + pack.n_points);
    for (int o = 0; o < OBJECTS; ++o)
        for (int c = 0; c < kVectors; ++c) store(nums + o * stride + c * L, chi2[o][c]);
}

constexpr int kRows = 4;  // curves evaluated together, for independent chains

template <bool MASKED>
void score_rows_general(const RowObject& object, const double* rows, ptrdiff_t padded, const int32_t* list, int n, double* nums,
                        double* dens) {
    constexpr int L = Simd<double>::lanes;
    for (int first = 0; first < n; first += kRows) {
        const double* row[kRows];
        VecD num[kRows], den[kRows];
        double chi2[kRows] = {}, exponents[kRows] = {}, mantissa[kRows];
        for (int i = 0; i < kRows; ++i) {
            row[i] = rows + ptrdiff_t(list[first + i < n ? first + i : n - 1]) * (2 * padded);
            mantissa[i] = 1.0;
        }
        int p = 0;
        for (int g = 0; g < object.n_groups; ++g) {
            for (int i = 0; i < kRows; ++i) {
                num[i] = broadcast<VecD>(0.0);
                den[i] = broadcast<VecD>(1.0);
            }
            for (const int end = object.group_end[g]; p < end; p += L) {
                const VecD d = load<VecD>(object.value + p), a = load<VecD>(object.variance + p);
                for (int i = 0; i < kRows; ++i) {
                    VecD r = d - load<VecD>(row[i] + p), b = load<VecD>(row[i] + padded + p);
                    if (MASKED) {  // a missing point becomes r = 0, v = 1
                        const IntD mask = load<IntD>(object.mask + p);
                        r = same_bits<VecD>(IntD(same_bits<IntD>(r) & mask));
                        b = same_bits<VecD>(IntD(same_bits<IntD>(b) & mask));
                    }
                    const VecD v = a + b;
                    num[i] = fma(num[i], v, VecD((r * r) * den[i]));
                    den[i] = den[i] * v;
                }
            }
            for (int i = 0; i < kRows; ++i) {  // the fractions of the lanes become one
                double lane_num[L], lane_den[L];
                store(lane_num, num[i]);
                store(lane_den, den[i]);
                double total = lane_num[0], product = lane_den[0];
                for (int l = 1; l < L; ++l) {
                    total = total * lane_den[l] + lane_num[l] * product;
                    product *= lane_den[l];
                }
                if (object.n_groups == 1) {
                    if (first + i < n) {
                        nums[first + i] = total;
                        dens[first + i] = product;
                    }
                    continue;
                }
                chi2[i] += total / product;
                VecD exponent = broadcast<VecD>(exponents[i]);
                mantissa[i] = take_exponent<double>(broadcast<VecD>(product * mantissa[i]), exponent)[0];
                exponents[i] = exponent[0];
            }
        }
        if (object.n_groups == 1) continue;
        for (int i = 0; i < kRows && first + i < n; ++i) {
            nums[first + i] = chi2[i] + (exponents[i] * kLog2 + log_mantissa(broadcast<VecD>(mantissa[i]))[0]);
            dens[first + i] = 1.0;
        }
    }
}

void score_rows_shared(const RowObject& object, const double* rows, ptrdiff_t padded, const int32_t* list, int n, double* nums, double*) {
    constexpr int L = Simd<double>::lanes;
    for (int first = 0; first < n; first += kRows) {
        const double* row[kRows];
        VecD chi2[kRows];
        for (int i = 0; i < kRows; ++i) {
            row[i] = rows + ptrdiff_t(list[first + i < n ? first + i : n - 1]) * padded;
            chi2[i] = broadcast<VecD>(0.0);
        }
        for (int p = 0; p < padded; p += L) {  // a missing point has weight 0
            const VecD d = load<VecD>(object.value + p), w = load<VecD>(object.variance + p);
            for (int i = 0; i < kRows; ++i) {
                const VecD r = d - load<VecD>(row[i] + p);
                chi2[i] = fma(VecD(r * w), r, chi2[i]);
            }
        }
        for (int i = 0; i < kRows && first + i < n; ++i) {
            double lane[L], sum = 0.0;
            store(lane, chi2[i]);
            for (int l = 0; l < L; ++l) sum += lane[l];
            nums[first + i] = sum;
        }
    }
}

void score_rows_any(const RowObject& o, const double* rows, ptrdiff_t padded, const int32_t* list, int n, double* nums, double* dens) {
    (o.mask ? score_rows_general<true> : score_rows_general<false>)(o, rows, padded, list, n, nums, dens);
}

// Fractions to scores -1/2 (num/den + log den), for the vectors that have a lane with chi^2 = num/den <= limit.
template <class T, bool SHARED>
int finish(const T* nums, const T* dens, int n, T limit, int32_t* place, T* scores, T* best) {
    typedef typename Simd<T>::Vec V;
    constexpr int L = Simd<T>::lanes;
    const V bound = broadcast<V>(limit), minus_half = broadcast<V>(T(-0.5));
    V top = broadcast<V>(T(-HUGE_VAL));
    int found = 0;
    for (int i = 0; i < n; i += L) {
        const V num = load<V>(nums + i);
        V score;
        if (SHARED) {
            if (lanes_set(greater(num, bound)) == (1u << L) - 1u) continue;
            score = minus_half * num;
        } else {
            const V den = load<V>(dens + i);
            if (lanes_set(greater(num, V(bound * den))) == (1u << L) - 1u) continue;
            V exponent = broadcast<V>(T(0));
            const V mantissa = take_exponent<T>(den, exponent);
            score = minus_half * (num / den + fma(exponent, broadcast<V>(T(kLog2)), log_mantissa(mantissa)));
        }
        store(scores + found, score);
        for (int l = 0; l < L; ++l) place[found + l] = i + l;
        top = larger(score, top);
        found += L;
    }
    *best = top[0];
    for (int l = 1; l < L; ++l) *best = top[l] > *best ? top[l] : *best;
    return found;
}

double exp_sum(const double* x, int n, double reference) {
    constexpr int L = Simd<double>::lanes;
    const VecD shift = broadcast<VecD>(reference), floor = broadcast<VecD>(-60.0);
    VecD sum = broadcast<VecD>(0.0);
    for (int i = 0; i < n; i += L) {
        const VecD t = load<VecD>(x + i) - shift;
        const IntD counts = greater(t, floor);
        if (lanes_set(counts)) sum = sum + select(counts, exp_negative(t), broadcast<VecD>(0.0));
    }
    double out = 0.0;
    for (int l = 0; l < L; ++l) out += sum[l];
    return out;
}

int split(const float* x, const int32_t* place, int n, float reference, float cut, int32_t* list, double* mass) {
    constexpr int L = Simd<float>::lanes;
    const VecF shift = broadcast<VecF>(reference), limit = broadcast<VecF>(cut);
    // Beyond 80 nats a float's exp underflows, and the mass is nothing beside what is kept.
    const VecF floor = broadcast<VecF>(reference - 80.0f);
    VecF sum = broadcast<VecF>(0.0f);
    int found = 0;
    for (int i = 0; i < n; i += L) {
        const VecF s = load<VecF>(x + i);
        const IntF survives = greater(s, limit);
        for (unsigned bits = lanes_set(survives); bits; bits &= bits - 1u) list[found++] = place[i + lowest(bits)];
        const VecF weight = select(greater(s, floor), exp_negative(VecF(s - shift)), broadcast<VecF>(0.0f));
        sum = sum + select(survives, broadcast<VecF>(0.0f), weight);
    }
    for (int l = 0; l < L; ++l) *mass += double(sum[l]);
    return found;
}

void bound_tiles(const ObjectBounds& object, const TileBounds& tiles, ptrdiff_t first, int n, float* chi2, float* log_v) {
    constexpr int L = Simd<float>::lanes;
    const VecF zero = broadcast<VecF>(0.0f), floor = broadcast<VecF>(object.floor), share = broadcast<VecF>(object.share);
    for (int t = 0; t < n; t += L) {
        VecF sum = zero;
        for (int v = 0; v < kDirections; ++v) {
            const ptrdiff_t at = v * tiles.stride + first + t;
            const VecF below = load<VecF>(tiles.low + at) - broadcast<VecF>(object.high[v]);
            const VecF above = broadcast<VecF>(object.low[v]) - load<VecF>(tiles.high + at);
            const VecF apart = larger(larger(below, above), zero);
            sum = sum + (apart * apart) / (load<VecF>(tiles.variance + at) + broadcast<VecF>(object.variance[v]));
        }
        store(chi2 + t, sum);
        const VecF logs = fma(share, load<VecF>(tiles.log_v + first + t), broadcast<VecF>(object.log_v));
        store(log_v + t, larger(VecF(logs - broadcast<VecF>(object.spread) * load<VecF>(tiles.spread + first + t)), floor));
    }
}

double multiply_adds(int64_t n_vectors, int* lanes) {
    constexpr int kChains = 10;
    *lanes = Simd<double>::lanes;
    VecD x[kChains];
    for (int i = 0; i < kChains; ++i) x[i] = broadcast<VecD>(1.0 + i);
    const VecD a = broadcast<VecD>(0.9999999), b = broadcast<VecD>(1e-9);
    for (int64_t done = 0; done < n_vectors; done += kChains)
        for (int i = 0; i < kChains; ++i) x[i] = fma(x[i], a, b);
    double out = 0.0;
    for (int i = 0; i < kChains; ++i) out += x[i][0];
    return out;
}

const PairKernels kTable = {
#define BADAC_STRING2(x) #x
#define BADAC_STRING(x) BADAC_STRING2(x)
    BADAC_STRING(BADAC_LEVEL),
    kVectors * Simd<double>::lanes,
    kVectors * Simd<float>::lanes,
    {{score_general<double, 1>, score_general<double, 2>}, {score_shared<double, 1>, score_shared<double, 2>}},
    {{score_general<float, 1>, score_general<float, 2>}, {score_shared<float, 1>, score_shared<float, 2>}},
    {score_rows_any, score_rows_shared},
    {finish<double, false>, finish<double, true>},
    {finish<float, false>, finish<float, true>},
    exp_sum,
    split,
    bound_tiles,
    multiply_adds,
};

}  // namespace
}  // namespace BADAC_LEVEL

#define BADAC_JOIN2(a, b) a##b
#define BADAC_JOIN(a, b) BADAC_JOIN2(a, b)
const PairKernels* BADAC_JOIN(pair_kernels_, BADAC_LEVEL)() { return &BADAC_LEVEL::kTable; }

}  // namespace badac
