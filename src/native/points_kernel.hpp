// Points of an object's own under shapes of the class and local shapes of one band. Twin: badac/_kernels/points.py, where the
// formulas are.
//
// All of a point, its local shapes, its shapes and its residual, lies side by side as one row x, so that everything an object
// says is in the sum of w x x' over the points of each group; the local part is then swept out.
//
// A row is the product of the kernel at the knots with the coefficients of the band, where the columns stand in the order of x.
// The Matern kernel is a polynomial times exp(-a), so all knots on one side of a point are three rows of their neighbour, whatever
// their number: with x = rate (t - knot before) and y = rate (knot after - t),
//
//     row(t) = constant + exp(-x) (A + B x + C x^2) + exp(-y) (D + E y + F y^2)
//
// with A ... F of the interval between the two knots (`intervals`), accumulated from knot to knot. The periodic kernel is no
// such function: its rows are products with the kernel at all knots.
//
// Plain structs of pointers: this header is shared by sources compiled for different CPUs (see simd.hpp).
#pragma once
#include <cstdint>

namespace badac {

constexpr int kPointsMaxRank = 48, kPointsMaxLocal = 32, kPointsMaxKnots = 256;

constexpr int kIntervalRows = 6;  // A ... F

struct PointsModel {
    int r, j, n_knots, n_widths;
    double length, period;                     // of the kernel; an infinite period: none
    double unit;                               // times are compressed to unit asinh(t / unit) first; 0: they are not
    const double *values, *variance, *at;      // (points)
    const int64_t *first, *group, *band;       // (groups + 1), (objects + 1), (groups): see the twin
    const double* knots;                       // (n_knots), rising
    const double* coefficients;                // (bands, 1 + n_knots, padded): local, shapes, mean, zeros
    const double* intervals;                   // (bands, n_knots + 1, 6, padded), where the period is infinite
    const double *psi, *widths;                // (bands), (n_widths)
    int64_t longest;                           // points of the longest group
};

struct PointsKernels {
    int lanes;  // rows of coefficients are padded to multiples of this
    int64_t (*work)(const PointsModel&);  // doubles that one thread needs
    // Precision (packed), shift and offset of one object under each width; results of two widths are `n` objects apart.
    void (*likelihood)(const PointsModel&, int64_t object, int64_t n, double* work, double* precision, double* shift, double* offset);
    // Log evidence (n_shifts) of one object with its points earlier by each shift, positions drawn from N(0, I), no local shapes.
    void (*shifted)(const PointsModel&, int64_t object, const double* shifts, int n_shifts, double* work, double* out);
    // Curves (count, 1 + r + j) at points of one band, from point `start` on: mean, shapes, local shapes.
    void (*rows)(const PointsModel&, int64_t start, int64_t count, int64_t band, double* work, double* out);
};

const PointsKernels* points_kernels_baseline();
const PointsKernels* points_kernels_avx2();
const PointsKernels* points_kernels_avx512();

}  // namespace badac
