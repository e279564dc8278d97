// What the inner loops of the pair kernel need, and the table of them that each instruction set offers.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

namespace badac {

constexpr int kRowStep = 8;  // points of a row are padded to, and grouped in, multiples of the widest vector of doubles
constexpr int kMaxPack = 2;  // objects evaluated together against one tile
constexpr int kMaxChecks = 2;
constexpr int kDirections = 4;  // in which curves are compared before their points are; more cut tiles along noise

// One or two objects with the same observed points.
template <class T>
struct ObjectPack {
    int n_objects;         // 1 or 2
    int n_points;          // observed points
    const int32_t* point;  // (n_points) which points
    const T* data;         // (n_points, 2, n_objects): value; variance, or weight 1/variance if curves share their errors
    int n_groups;
    const int32_t* group_end;  // (n_groups) the product of variances is kept in range within a group
    int check[kMaxChecks];     // after so many points, give up a tile if sum r^2/v is above `limit` for all its curves; 0: do not
    T limit[kMaxPack];
};

// One object for the evaluation of single curves, its points in order and padded to a multiple of kRowStep.
struct RowObject {
    const double* value;     // (padded)
    const double* variance;  // (padded) or the weights; 1 where missing or padded (weights: 0)
    const int64_t* mask;     // (padded) all ones where observed, or null if all points are
    int n_groups;
    const int32_t* group_end;  // (n_groups) in points, multiples of kRowStep
};

// Tiles of curves along the directions, (directions, stride) or (stride) each, and one object beside them: see pair_bounds.hpp.
struct TileBounds {
    const float *low, *high, *variance, *log_v, *spread;
    ptrdiff_t stride;  // a multiple of any vector
};
struct ObjectBounds {
    float low[kDirections], high[kDirections], variance[kDirections];
    float floor, log_v, share, spread;
};

// A pair's score is -1/2 sum_j (r_j^2 / v_j + log v_j), in the scaled units of the caller. It is kept as a fraction first: num/den is
// the sum of r^2/v, den the product of v. If the curves share their errors the logs are the caller's and num alone is the sum.
struct PairKernels {
    const char* name;
    int tile_double, tile_float;  // curves in a tile
    // [errors shared][n_objects - 1]; a tile is (points, 2, curves): value and variance; (points, curves) if errors are shared.
    // Out: (n_objects, curves), rows `stride` apart.
    void (*score_double[2][kMaxPack])(const ObjectPack<double>&, const double* tile, double* num, double* den, ptrdiff_t stride);
    void (*score_float[2][kMaxPack])(const ObjectPack<float>&, const float* tile, float* num, float* den, ptrdiff_t stride);
    // Curves of a list, one by one: rows are (curves, 2, padded), or (curves, padded) if errors are shared. Out: (n).
    void (*score_rows[2])(const RowObject&, const double* rows, ptrdiff_t padded, const int32_t* list, int n, double* num, double* den);
    // [errors shared] Fractions to scores, n a multiple of the tile, except for whole vectors whose num/den is above the limit.
    // Returns how many scores there are, where they came from, and the largest.
    int (*finish_double[2])(const double* num, const double* den, int n, double limit, int32_t* place, double* scores, double* best);
    int (*finish_float[2])(const float* num, const float* den, int n, float limit, int32_t* place, float* scores, float* best);
    // sum exp(x - reference) over what is above reference - 60
    double (*exp_sum)(const double* x, int n, double reference);
    // List the places whose score is above the cut; the mass of the rest, sum exp(x - reference), is added to *mass.
    int (*split)(const float* x, const int32_t* place, int n, float reference, float cut, int32_t* list, double* mass);
    // The least chi^2 and the least sum log v that an object can have with any curve of n tiles from `first` on; writes whole vectors.
    void (*bound_tiles)(const ObjectBounds&, const TileBounds&, ptrdiff_t first, int n, float* chi2, float* log_v);
    // Multiply-adds of independent vectors, for measuring what the machine can do; returns a number that depends on all.
    double (*multiply_adds)(int64_t n_vectors, int* lanes);
};

const PairKernels* pair_kernels_baseline();
const PairKernels* pair_kernels_avx2();
const PairKernels* pair_kernels_avx512();

}  // namespace badac
