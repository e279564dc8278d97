// The factor kernels over blocks of objects. Shapes are made sure of here; their meaning is in badac/_kernels/factor.py.
#include "factor.hpp"

#include <algorithm>
#include <string>

#include "add_up.hpp"
#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "factor_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<FactorKernels> kLevels = BADAC_LEVELS(factor_kernels);

// The arrays of a call, with factors, their products and the factors turned, padded as the kernels take them.
struct Problem {
    FactorArrays in{};
    AlignedVector<double> outer, factors, turned;

    Problem(const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi, const Matrix& columns) {
        in.n = int64_t(values.shape(0)), in.m = int64_t(values.shape(1)), in.r = small(columns.shape(1), "too many factors");
        require(in.r >= 1 && in.r <= kMaxRank, "the factor kernels take 1 to 48 factors");
        in.p = in.r * (in.r + 1) / 2;
        require(int64_t(sigma.shape(0)) == in.n && int64_t(sigma.shape(1)) == in.m, "sigma does not fit values");
        require(int64_t(mean.size()) == in.m && int64_t(psi.size()) == in.m, "mean or psi does not fit values");
        require(int64_t(columns.shape(0)) == in.m, "factors do not fit values");
        in.values = values.data(), in.sigma = sigma.data(), in.mean = mean.data(), in.psi = psi.data();
        const int64_t packed = whole(in.p), few = whole(in.r), points = whole(in.m);
        outer.resize(size_t(in.m * packed)), factors.resize(size_t(in.m * few)), turned.resize(size_t(in.r * points));
        for (int64_t j = 0; j < in.m; ++j) {
            const double* row = columns.data() + j * in.r;
            double* products = outer.data() + j * packed;
            for (int a = 0; a < in.r; ++a) {
                factors[size_t(j * few + a)] = turned[size_t(a * points + j)] = row[a];
                for (int c = a; c < in.r; ++c) *products++ = row[a] * row[c];
            }
        }
        in.outer = outer.data(), in.factors = factors.data(), in.turned = turned.data();
    }
};

}  // namespace

void bind_factor(nb::module_& m) {
    m.def(
        "factor_project",
        [](Output precision, Output shift, Output offset, const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi,
           const Matrix& factors, int n_threads, const std::string& level) {
            const Problem problem(values, sigma, mean, psi, factors);
            const FactorArrays& in = problem.in;
            require(int64_t(precision.size()) == in.n * in.p && int64_t(shift.size()) == in.n * in.r && int64_t(offset.size()) == in.n,
                    "the outputs do not fit the objects");
            const FactorKernels& kernels = choose(kLevels, level);
            over_objects(in.n, objects_per_block(double(in.m) * (in.p + in.r + 8.0), kFactorChunk), n_threads, [&] {
                return [&, scratch = AlignedVector<double>(size_t(kernels.scratch(in)))](int64_t first, int64_t last) mutable {
                    kernels.project(in, first, last, scratch.data(), precision.data(), shift.data(), offset.data());
                };
            });
        },
        written("precision"), written("shift"), written("offset"), "values"_a, "sigma"_a, "mean"_a, "psi"_a, "factors"_a, "n_threads"_a,
        "level"_a);

    m.def(
        "row_products",
        [](Output out, const Matrix& left, const Matrix& right, int n_threads, const std::string& level) {
            const int64_t n = int64_t(left.shape(0)), points = int64_t(left.shape(1)), s = int64_t(right.shape(1)), width = whole(s);
            require(int64_t(right.shape(0)) == points, "right does not fit left");
            require(int64_t(out.size()) == n * s, "out does not fit left and right");
            const FactorKernels& kernels = choose(kLevels, level);
            AlignedVector<double> padded(size_t(points * width));
            for (int64_t j = 0; j < points; ++j) std::copy_n(right.data() + j * s, s, padded.data() + j * width);
            const ProductArrays in{n, points, s, left.data(), padded.data(), out.data()};
            over_objects(n, objects_per_block(double(points) * double(s), kFactorWhole), n_threads, [&] {
                return [&, scratch = AlignedVector<double>(size_t(kFactorWhole * (width + points)))](int64_t first, int64_t last) mutable {
                    kernels.multiply(in, first, last, scratch.data());
                };
            });
        },
        written("out"), "left"_a, "right"_a, "n_threads"_a, "level"_a);

    m.def(
        "factor_normal",
        [](Output normal, const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi, const Matrix& factors,
           const Matrix& position, int n_threads, const std::string& level) {
            const Problem problem(values, sigma, mean, psi, factors);
            const FactorArrays& in = problem.in;
            const int64_t all = 1 + in.r + in.p, width = whole(all), size = whole(in.m) * width;
            require(int64_t(normal.size()) == in.m * all, "normal does not fit the factors");
            require(int64_t(position.shape(0)) == in.n && int64_t(position.shape(1)) == in.r, "position does not fit the objects");
            const FactorKernels& kernels = choose(kLevels, level);
            const LeverageArrays of{in, position.data(), nullptr, 0.0};
            require_threads(n_threads);
            without_gil([&] {
                AlignedVector<double> sums(static_cast<size_t>(size));
                add_up(in.n, kernels.scratch(in), size, n_threads, sums.data(), [&](int64_t first, int64_t last, double* scratch, double* own) {
                    kernels.normal(of, first, last, scratch, own);
                });
                for (int64_t j = 0; j < in.m; ++j) std::copy_n(sums.data() + j * width, all, normal.data() + j * all);
            });
        },
        written("normal"), "values"_a, "sigma"_a, "mean"_a, "psi"_a, "factors"_a, "position"_a, "n_threads"_a, "level"_a);

    m.def(
        "factor_leverage",
        [](Output out, const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi, const Matrix& factors,
           const Matrix& position, const Matrix& inverse, double largest, int n_threads, const std::string& level) {
            const Problem problem(values, sigma, mean, psi, factors);
            const FactorArrays& in = problem.in;
            const int64_t all = 1 + in.r + in.p, points = whole(in.m);
            require(int64_t(out.size()) == in.n, "out does not fit the objects");
            require(int64_t(position.shape(0)) == in.n && int64_t(position.shape(1)) == in.r, "position does not fit the objects");
            require(int64_t(inverse.shape(0)) == all && int64_t(inverse.shape(1)) == in.m, "inverse does not fit the factors");
            require(largest >= 0.0 && largest < 1.0, "the largest leverage is from 0 to below 1");
            const FactorKernels& kernels = choose(kLevels, level);
            AlignedVector<double> padded(size_t(all * points));
            for (int64_t e = 0; e < all; ++e) std::copy_n(inverse.data() + e * in.m, in.m, padded.data() + e * points);
            const LeverageArrays of{in, position.data(), padded.data(), largest};
            over_objects(in.n, objects_per_block(double(in.m) * (in.p + 2.0 * in.r + 16.0), kFactorChunk), n_threads, [&] {
                return [&, scratch = AlignedVector<double>(size_t(kernels.scratch(in)))](int64_t first, int64_t last) mutable {
                    kernels.leverage(of, first, last, scratch.data(), out.data());
                };
            });
        },
        written("out"), "values"_a, "sigma"_a, "mean"_a, "psi"_a, "factors"_a, "position"_a, "inverse"_a, "largest"_a, "n_threads"_a,
        "level"_a);

    m.def(
        "factor_sums",
        [](Output normal, Output right, Output weight_squared, Output misfit, Output moments, const Matrix& values, const Matrix& sigma,
           const Vector& mean, const Vector& psi, const Matrix& factors, int n_threads, const std::string& level) {
            const Problem problem(values, sigma, mean, psi, factors);
            const FactorArrays& in = problem.in;
            const int64_t few = 1 + in.r, all = few + in.p;
            require(int64_t(normal.size()) == in.m * all && int64_t(right.size()) == in.m * few && int64_t(weight_squared.size()) == in.m &&
                        int64_t(misfit.size()) == in.m && int64_t(moments.size()) == all,
                    "the outputs do not fit the factors");
            const FactorKernels& kernels = choose(kLevels, level);
            const FactorSumsLayout at(in);
            double evidence = 0.0;
            require_threads(n_threads);
            without_gil([&] {
                AlignedVector<double> sums(size_t(at.size()));
                add_up(in.n, kernels.scratch(in), at.size(), n_threads, sums.data(), [&](int64_t first, int64_t last, double* scratch, double* own) {
                    kernels.sums(in, first, last, scratch, own);
                });
                for (int64_t j = 0; j < in.m; ++j) {
                    std::copy_n(sums.data() + at.normal() + j * at.moments, all, normal.data() + j * all);
                    std::copy_n(sums.data() + at.right() + j * at.few, few, right.data() + j * few);
                    const double *spread = sums.data() + at.spread() + j * at.packed, *products = in.outer + j * whole(in.p);
                    double own = sums[size_t(at.misfit() + j)];
                    // Elements beside the diagonal count twice in f' C f.
                    for (int a = 0, e = 0; a < in.r; ++a)
                        for (int c = a; c < in.r; ++c, ++e) own += (a == c ? 1.0 : 2.0) * spread[e] * products[e];
                    misfit.data()[j] = own, weight_squared.data()[j] = sums[size_t(at.squared() + j)];
                }
                std::copy_n(sums.data() + at.total(), all, moments.data());
                evidence = sums[size_t(at.evidence())];
            });
            return evidence;
        },
        written("normal"), written("right"), written("weight_squared"), written("misfit"), written("moments"), "values"_a, "sigma"_a, "mean"_a,
        "psi"_a, "factors"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
