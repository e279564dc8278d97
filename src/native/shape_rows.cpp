// Cosines and bumps at any points, a row a point. Twin: badac/_kernels/shape_rows.py.
#include "shape_rows.hpp"

#include <cmath>

#include "door.hpp"

namespace badac {
namespace {

constexpr int kTogether = 4;  // points whose cosines are made at a time: a cosine waits for the two before it
constexpr double kRoot = 1.41421356237309504880;

// Rows of `count` cosines at kTogether angles, or fewer at the end.
void cosines(const double* angle, int64_t points, int64_t count, double* out) {
    double before[kTogether], last[kTogether], twice[kTogether];
    for (int64_t i = 0; i < kTogether; ++i) {
        before[i] = 1.0;
        last[i] = i < points ? std::cos(angle[i]) : 0.0;
        twice[i] = 2.0 * last[i];
    }
    for (int64_t i = 0; i < points; ++i) out[i * count] = 1.0;
    for (int64_t k = 1; k < count; ++k) {
        for (int64_t i = 0; i < points; ++i) out[i * count + k] = kRoot * last[i];
        for (int i = 0; i < kTogether; ++i) {
            const double next = twice[i] * last[i] - before[i];
            before[i] = last[i];
            last[i] = next;
        }
    }
}

}  // namespace

void bind_shape_rows(nb::module_& m) {
    m.def(
        "cosine_rows",
        [](Output out, const Vector& angle, int64_t count, int n_threads) {
            const int64_t n = int64_t(angle.shape(0));
            require(count >= 1, "count must be at least 1");
            require(int64_t(out.size()) / count == n && int64_t(out.size()) % count == 0, "the result does not fit angle and count");
            over_objects(n, objects_per_block(8.0 * double(count), kTogether), n_threads, [&] {
                return [&](int64_t start, int64_t stop) {
                    for (int64_t i = start; i < stop; i += kTogether) {
                        const int64_t points = std::min(int64_t(kTogether), stop - i);
                        cosines(angle.data() + i, points, count, out.data() + i * count);
                    }
                };
            });
        },
        written("out"), "angle"_a, "count"_a, "n_threads"_a);
    m.def(
        "bump_rows",
        [](Output out, const Vector& where, const Vector& places, const Vector& widths, double farthest, int n_threads) {
            const int64_t n = int64_t(where.shape(0)), count = int64_t(places.shape(0));
            require(int64_t(widths.shape(0)) == count, "widths do not fit places");
            require(int64_t(out.size()) == n * count, "the result does not fit where and places");
            over_objects(n, objects_per_block(8.0 * double(count), 1), n_threads, [&] {
                return [&](int64_t start, int64_t stop) {
                    for (int64_t i = start; i < stop; ++i) {
                        double* row = out.data() + i * count;
                        for (int64_t k = 0; k < count; ++k) {
                            const double lag = (where.data()[i] - places.data()[k]) / widths.data()[k];
                            row[k] = lag * lag;
                        }
                        for (int64_t k = 0; k < count; ++k) row[k] = row[k] <= farthest ? std::exp(-row[k]) : 0.0;
                    }
                };
            });
        },
        written("out"), "where"_a, "places"_a, "widths"_a, "farthest"_a, "n_threads"_a);
}

}  // namespace badac
