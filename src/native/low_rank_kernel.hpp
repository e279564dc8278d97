// Points of an object's own under a Gaussian of low rank plus diagonal, and columns that are added to it. Twin:
// badac/_kernels/low_rank.py, where the formulas are.
//
// Local shapes, shapes, columns and residual of a point lie side by side as one row x. All is in the sum of w x x' over the points of a
// band; local shapes are swept out of that, the rest is added up over the bands, and shapes and columns are swept out of the whole.
// Of columns that are not swept out (`filtered`) there are many, and few points know of each: vectors of them that are 0 at some
// points are passed over there, and their products with each other are not made.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

struct LowRankModel {
    int r, j, q;                          // shapes, local shapes, columns
    int64_t p;                            // points, with the padding
    const double *residual, *variance;    // (objects, p)
    const int64_t* band;                  // (objects, p)
    const double *shapes, *local;         // (objects, p, r), (objects, p, j)
    const double* columns;                // (places, p, q)
};

// An object: where it is, where its columns are, and its points, those of a band together.
struct LowRankObject {
    int64_t row, place, count;
    const int64_t* order;
};

struct LowRankKernels {
    int64_t (*work)(const LowRankModel&);  // doubles that one thread needs
    // d'K^-1 d + log det K + m log 2 pi
    double (*offset)(const LowRankModel&, const LowRankObject&, double* work);
    // g'K^-1 d and g'K^-1 g (q) of each column
    void (*filtered)(const LowRankModel&, const LowRankObject&, double* work, double* signal, double* precision);
    // Log density gained by random coefficients of the columns, for each of so many `sizes` (count, q).
    void (*gain)(const LowRankModel&, const LowRankObject&, const double* sizes, int64_t count, double common, double* work, double* out);
};

const LowRankKernels* low_rank_kernels_baseline();
const LowRankKernels* low_rank_kernels_avx2();
const LowRankKernels* low_rank_kernels_avx512();

}  // namespace badac
