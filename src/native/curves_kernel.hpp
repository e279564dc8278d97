// Random curves beside a class, or alone, integrated out of objects on a grid: from points to log evidence in one pass.
// Twin: curve_log_evidence of badac/_kernels/hypotheses.py.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

#include "grid_points.hpp"
#include "latent_kernel.hpp"

namespace badac {

constexpr int kMaxCurveSize = 96;  // dimensions in which curves and a class are seen together; on the stack

// One alternative: which dimensions there are, where their precision is, how large its features are.
struct CurveAlternative {
    int columns, size;       // the first `columns` of `size` dimensions are integrated out
    const int32_t* chosen;   // (size) which, as columns of the shift
    const int32_t* first;    // (size (size + 1) / 2) an entry of the upper triangle, as a column of the sums,
    const int32_t* second;   //   and another one to be added; -1 if there is none
    const double* size_of;   // (columns) prior standard deviations, in units of the object's own
};

struct CurveArrays {
    GridPoints points;
    int sums, all;                  // columns of `products` and of `columns`
    const double *products, *columns;  // in tiles (see CurvesKernels::tile), the last one filled with zeros
    double base, share;             // an object's unit is sqrt(base + share * mean variance of its points)
    int alternatives;
    const CurveAlternative* alternative;
    LatentArrays mixture;           // only the components; r is 0 where there is no class
    double* out;                    // (n)
};

struct CurvesKernels {
    int tile;  // columns that are brought together: (tiles, m, tile)
    // Numbers of `memory` that `log_evidence` needs.
    int64_t (*scratch)(const CurveArrays&);
    // Asked objects first <= i < last.
    void (*log_evidence)(const CurveArrays&, int64_t first, int64_t last, double* memory);
};

const CurvesKernels* curves_kernels_baseline();
const CurvesKernels* curves_kernels_avx2();
const CurvesKernels* curves_kernels_avx512();

}  // namespace badac
