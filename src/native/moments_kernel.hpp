// First and second moments of weighed objects. Twin: badac/_kernels/moments.py, where the formulas are.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

constexpr int kMomentsWhole = 16;  // points are padded to multiples of this: of every level's lanes and tiles
// Objects whose products are added up together: their rows stay in the second cache, and of many points their sums do not.
constexpr int64_t kMomentsChunk = 64, kMomentsWideChunk = 256, kMomentsWide = 256;

struct MomentArrays {
    int64_t n, m;
    int64_t points;                // m, padded
    const double *values, *sigma;  // (n, m)
    const double* spread;          // (points), 1 beyond m
    const double* mean;            // (points), for `products` only
    int64_t chunk() const { return m > kMomentsWide ? kMomentsWideChunk : kMomentsChunk; }
};

struct MomentKernels {
    // Doubles that `products` works in, zeros before it begins.
    int64_t (*scratch)(const MomentArrays&);
    // Add sums of w, of w y, of w^2 sigma^2 and of w^2 of objects first <= i < last to `out` (4, points).
    void (*sums)(const MomentArrays&, int64_t first, int64_t last, double* out);
    // Add the upper triangles of the products of w (y - mean), and of w, of these objects to `out` (2, points, points).
    void (*products)(const MomentArrays&, int64_t first, int64_t last, double* scratch, double* out);
};

const MomentKernels* moment_kernels_baseline();
const MomentKernels* moment_kernels_avx2();
const MomentKernels* moment_kernels_avx512();

}  // namespace badac
