// Objects and curves as they come from Python, for all kernels of pairs.
#pragma once
#include "door.hpp"
#include "pair.hpp"

namespace badac {

inline PairArrays pair_arrays(const Matrix& d, const Matrix& d_sigma, const Matrix& y, const Matrix& y_sigma) {
    PairArrays in{};
    in.n = int64_t(d.shape(0)), in.k = int64_t(y.shape(0)), in.m = int64_t(d.shape(1));
    require(in.m >= 1 && in.m < (int64_t(1) << 24), "d must have 1 to 2^24 - 1 points");
    require(in.k >= 1 && int64_t(y.shape(1)) == in.m, "y does not fit d");
    require(int64_t(d_sigma.shape(1)) == in.m && (int64_t(d_sigma.shape(0)) == in.n || d_sigma.shape(0) == 1), "d_sigma does not fit d");
    require(int64_t(y_sigma.shape(1)) == in.m && (int64_t(y_sigma.shape(0)) == in.k || y_sigma.shape(0) == 1), "y_sigma does not fit y");
    in.d = d.data(), in.d_sigma = d_sigma.data(), in.d_sigma_shared = d_sigma.shape(0) == 1;
    in.y = y.data(), in.y_sigma = y_sigma.data(), in.y_sigma_shared = y_sigma.shape(0) == 1;
    return in;
}

// Weights of the curves and the curve that each object leaves out, where they are given; to be kept as long as the arrays.
struct Choice {
    Vector log_weights;
    Indices skip;

    Choice(PairArrays& in, const nb::object& weights, const nb::object& left_out) {
        if (!weights.is_none()) {
            log_weights = nb::cast<Vector>(weights);
            require(int64_t(log_weights.shape(0)) == in.k, "log_weights does not fit y");
            in.log_weights = log_weights.data();
        }
        if (!left_out.is_none()) {
            skip = nb::cast<Indices>(left_out);
            require(int64_t(skip.shape(0)) == in.n, "skip does not fit d");
            for (int64_t i = 0; i < in.n; ++i) require(skip.data()[i] >= -1 && skip.data()[i] < in.k, "skip is out of range");
            in.skip = skip.data();
        }
    }
};

}  // namespace badac
