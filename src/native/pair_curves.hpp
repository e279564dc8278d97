// Curves in the units of the kernel, block by block: as rows, and on demand as tiles.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "aligned.hpp"
#include "pair_units.hpp"

namespace badac {

constexpr int64_t kWidestTile = 32;  // of any level, in any type: blocks of curves are multiples of it

inline int64_t round_up(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// The order in which curves are taken: as given, or similar ones together.
struct CurveOrder {
    std::vector<int32_t> curves, places;  // (k) each, or empty: as given
    int64_t curve(int64_t place) const { return curves.empty() ? place : curves[size_t(place)]; }
    int64_t place(int64_t curve) const { return places.empty() ? curve : places[size_t(curve)]; }
};

class PackedCurves {
  public:
    PackedCurves(const PairArrays& arrays, const Units& units, const PairKernels& kernels, const CurveOrder& order)
        : in_(arrays), units_(units), kernels_(kernels), order_(order), parts_(arrays.y_sigma_shared ? 1 : 2) {}

    void pack(int64_t first, int64_t count);  // replaces what was packed before

    const double* rows() const { return rows_.data(); }  // (count, parts, padded)
    const double* tiles();                                // (tiles, points, parts, curves of a tile)
    const float* float_tiles();
    int64_t tile_size() const { return kernels_.tile_double * parts_ * in_.m; }
    int64_t float_tile_size() const { return kernels_.tile_float * parts_ * in_.m; }

  private:
    template <class T, class Value, class Variance>
    void transpose(AlignedVector<T>& tiles, int64_t width, const Value& value, const Variance& variance);

    const PairArrays& in_;
    const Units& units_;
    const PairKernels& kernels_;
    const CurveOrder& order_;
    int64_t parts_, count_ = 0;
    AlignedVector<double> rows_, tiles_;
    AlignedVector<float> float_tiles_;
    std::mutex mutex_;  // the first of several threads that wants tiles makes them
    std::atomic<bool> has_tiles_{false}, has_float_tiles_{false};
};

// All blocks, packed once and shared by the threads, if they are small enough to be kept; otherwise each thread packs a block
// whenever it comes to it, into memory that is in the cache; so it does where there is one block of objects, which sees each once or twice.
class CurveStore {
  public:
    CurveStore(const PairArrays& arrays, const Units& units, const PairKernels& kernels, const CurveOrder& order, int64_t per_block,
               bool is_used_again);

    // A block for a thread; `scratch` is the thread's own.
    PackedCurves& block(int64_t index, std::unique_ptr<PackedCurves>& scratch);
    int64_t per_block() const { return per_block_; }

  private:
    const PairArrays& in_;
    const Units& units_;
    const PairKernels& kernels_;
    const CurveOrder& order_;
    int64_t per_block_;
    std::vector<std::unique_ptr<PackedCurves>> kept_;
    std::unique_ptr<std::once_flag[]> packed_;
};

}  // namespace badac
