#include "pair_curves.hpp"

#include <algorithm>

#include "heed.hpp"

namespace badac {
namespace {

constexpr int64_t kKeptBytes = 96 << 20;

}  // namespace

void PackedCurves::pack(int64_t first, int64_t count) {
    count_ = count;
    has_tiles_ = has_float_tiles_ = false;
    rows_.resize(size_t(count * parts_ * units_.padded), 0.0);
    // Plain pointers: the compiler cannot know that a row is not one of the vectors of `units_`.
    const double *const down = units_.down.data(), *const extra = units_.extra.data();
    const int64_t m = in_.m;
    Attention attention;
    for (int64_t c = 0; c < count; ++c) {
        attention.spent(parts_ * m);
        const int64_t curve = order_.curve(first + c);
        const double *y = in_.y + curve * m, *s = in_.y_sigma + curve * m;
        double* __restrict row = rows_.data() + c * parts_ * units_.padded;
        double* __restrict variance = row + units_.padded;
        for (int64_t j = 0; j < m; ++j) row[j] = y[j] * down[j];
        if (parts_ == 2)
            for (int64_t j = 0; j < m; ++j) variance[j] = (s[j] * down[j]) * (s[j] * down[j]) + extra[j];
    }
}

// Rows to tiles: (points, parts, width). The last tile is filled up with copies of the last curve.
template <class T, class Value, class Variance>
void PackedCurves::transpose(AlignedVector<T>& tiles, int64_t width, const Value& value, const Variance& variance) {
    const int64_t n_tiles = (count_ + width - 1) / width;
    tiles.resize(size_t(n_tiles * width * parts_ * in_.m));
    T* __restrict out = tiles.data();
    const int64_t m = in_.m, padded = units_.padded;
    Attention attention;
    for (int64_t t = 0; t < n_tiles; ++t) {
        attention.spent(parts_ * m * width);
        const double* row[kWidestTile];
        for (int64_t c = 0; c < width; ++c)
            row[c] = rows_.data() + std::min(t * width + c, count_ - 1) * parts_ * units_.padded;
        for (int64_t j = 0; j < m; ++j) {
            for (int64_t c = 0; c < width; ++c) out[c] = value(row[c][j], size_t(j));
            out += width;
            if (parts_ == 1) continue;
            for (int64_t c = 0; c < width; ++c) out[c] = variance(row[c][padded + j], size_t(j));
            out += width;
        }
    }
}

const double* PackedCurves::tiles() {
    if (!has_tiles_.load(std::memory_order_acquire)) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!has_tiles_) {
            transpose(tiles_, kernels_.tile_double, [](double y, size_t) { return y; }, [](double b, size_t) { return b; });
            has_tiles_.store(true, std::memory_order_release);
        }
    }
    return tiles_.data();
}

const float* PackedCurves::float_tiles() {
    if (!has_float_tiles_.load(std::memory_order_acquire)) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!has_float_tiles_) {
            const double *const centre = units_.centre.data(), *const narrow = units_.narrow.data();
            transpose(
                float_tiles_, kernels_.tile_float, [=](double y, size_t j) { return float((y - centre[j]) * narrow[j]); },
                [=](double b, size_t j) { return float(b * narrow[j] * narrow[j]); });
            has_float_tiles_.store(true, std::memory_order_release);
        }
    }
    return float_tiles_.data();
}

CurveStore::CurveStore(const PairArrays& arrays, const Units& units, const PairKernels& kernels, const CurveOrder& order, int64_t per_block,
                       bool is_used_again)
    : in_(arrays), units_(units), kernels_(kernels), order_(order), per_block_(per_block) {
    const int64_t parts = arrays.y_sigma_shared ? 1 : 2, bytes_per_curve = units.padded * parts * (8 + 8 + 4);
    if (!is_used_again || arrays.k > kKeptBytes / bytes_per_curve) return;
    const size_t n_blocks = size_t((arrays.k + per_block - 1) / per_block);
    kept_.resize(n_blocks);
    packed_ = std::make_unique<std::once_flag[]>(n_blocks);
}

PackedCurves& CurveStore::block(int64_t index, std::unique_ptr<PackedCurves>& scratch) {
    const int64_t first = index * per_block_, count = std::min(per_block_, in_.k - first);
    if (!kept_.empty()) {
        auto& kept = kept_[size_t(index)];
        std::call_once(packed_[size_t(index)], [&] {
            kept = std::make_unique<PackedCurves>(in_, units_, kernels_, order_);
            kept->pack(first, count);
        });
        return *kept;
    }
    if (!scratch) scratch = std::make_unique<PackedCurves>(in_, units_, kernels_, order_);
    scratch->pack(first, count);
    return *scratch;
}

}  // namespace badac
