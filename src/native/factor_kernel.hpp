// Objects on a grid under a factor model: what they say of their latent positions, and the sums of an EM step. Twin:
// badac/_kernels/factor.py, where the formulas are.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

#include "latent_kernel.hpp"  // kMaxRank

namespace badac {

constexpr int kFactorChunk = 32;  // objects that go through all products together, so that they stay in the second cache
constexpr int kFactorWhole = 8;   // rows and columns are padded with zeros to multiples of this: of every level's lanes and tiles

inline int64_t whole(int64_t size) { return (size + kFactorWhole - 1) / kFactorWhole * kFactorWhole; }

struct FactorArrays {
    int64_t n, m;
    int r, p;                      // p = r (r + 1) / 2, the upper triangle row by row
    const double *values, *sigma;  // (n, m)
    const double *mean, *psi;      // (m)
    const double* outer;           // (m, whole p): packed products of the factors of each point
    const double* factors;         // (m, whole r)
    const double* turned;          // (r, whole m): the same, turned
};

// Where the sums of an EM step lie, one part after the other; rows of whole m points, columns padded.
struct FactorSumsLayout {
    int64_t points, moments, few, packed;  // whole m, 1 + r + p, 1 + r, p
    FactorSumsLayout(const FactorArrays& in)
        : points(whole(in.m)), moments(whole(1 + in.r + in.p)), few(whole(1 + in.r)), packed(whole(in.p)) {}
    int64_t normal() const { return 0; }                                   // (points, moments)
    int64_t right() const { return normal() + points * moments; }          // (points, few)
    int64_t spread() const { return right() + points * few; }              // (points, packed): w^2 times covariances
    int64_t misfit() const { return spread() + points * packed; }          // (points): of the residuals alone
    int64_t squared() const { return misfit() + points; }                  // (points)
    int64_t total() const { return squared() + points; }                   // (moments)
    int64_t evidence() const { return total() + moments; }                 // one number
    int64_t size() const { return evidence() + kFactorWhole; }
};

// Objects at positions of theirs, and how much each point's regression on (1, z) owes to each of them.
struct LeverageArrays {
    FactorArrays factor;
    const double* position;  // (n, r)
    const double* inverse;   // (1 + r + p, whole m): of the points' normal matrices, elements beside the diagonal twice
    double largest;          // leverage that counts
};

// left (n, m) times right (m, whole s): out (n, s).
struct ProductArrays {
    int64_t n, m, s;
    const double *left, *right;
    double* out;
};

struct FactorKernels {
    // Doubles that `project` and `sums` work in.
    int64_t (*scratch)(const FactorArrays&);
    // Precision (n, p), shift (n, r) and offset (n) of objects first <= i < last.
    void (*project)(const FactorArrays&, int64_t first, int64_t last, double* scratch, double* precision, double* shift, double* offset);
    // Add the sums of these objects to `sums` (FactorSumsLayout).
    void (*sums)(const FactorArrays&, int64_t first, int64_t last, double* scratch, double* sums);
    // Add sums of w (1, z)(1, z)' of objects first <= i < last to `sums` (whole m, whole 1 + r + p).
    void (*normal)(const LeverageArrays&, int64_t first, int64_t last, double* scratch, double* sums);
    // Evidence (n) that objects first <= i < last owe to their leverage.
    void (*leverage)(const LeverageArrays&, int64_t first, int64_t last, double* scratch, double* out);
    // Rows first <= i < last of a product; scratch: 8 rows of whole s, and of m.
    void (*multiply)(const ProductArrays&, int64_t first, int64_t last, double* scratch);
};

const FactorKernels* factor_kernels_baseline();
const FactorKernels* factor_kernels_avx2();
const FactorKernels* factor_kernels_avx512();

}  // namespace badac
