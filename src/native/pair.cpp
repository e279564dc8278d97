// The walk over blocks: objects packed once, curves packed block by block, scores summed as they come.
#include "pair.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "pair_objects.hpp"
#include "pair_units.hpp"
#include "threads.hpp"

namespace badac {
namespace {

constexpr int64_t kWidestTile = 32;  // of any level, in any type: blocks of curves are multiples of it
constexpr int64_t kCacheBytes = 300 << 10, kObjectBytes = 16 << 20;
constexpr double kTolerance = 1e-10;  // nats: what screening may change in a log-sum
constexpr double kWorstFloatError = 2.0;
constexpr double kTooManySurvivors = 0.35;

// A block of curves in the units of the kernel: as rows, and on demand as tiles.
class PackedCurves {
  public:
    PackedCurves(const PairArrays& arrays, const Units& units, const PairKernels& kernels, int64_t capacity)
        : in_(arrays), units_(units), kernels_(kernels), parts_(arrays.y_sigma_shared ? 1 : 2),
          rows_(size_t(capacity * parts_ * units.padded), 0.0) {}

    void pack(int64_t first, int64_t count) {
        first_ = first;
        count_ = count;
        has_tiles_ = has_float_tiles_ = false;
        for (int64_t c = 0; c < count; ++c) {
            const double *y = in_.y + (first + c) * in_.m, *s = in_.y_sigma + (first + c) * in_.m;
            double* row = rows_.data() + c * parts_ * units_.padded;
            for (int64_t j = 0; j < in_.m; ++j) row[j] = y[j] * units_.down[size_t(j)];
            if (parts_ == 1) continue;
            for (int64_t j = 0; j < in_.m; ++j) {
                const double sigma = s[j] * units_.down[size_t(j)];
                row[units_.padded + j] = sigma * sigma + units_.extra[size_t(j)];
            }
        }
    }

    const double* rows() const { return rows_.data(); }
    const double* tile(int64_t t) {
        if (!has_tiles_) {
            transpose(tiles_, kernels_.tile_double, [](double y, size_t) { return y; }, [](double b, size_t) { return b; });
            has_tiles_ = true;
        }
        return tiles_.data() + t * kernels_.tile_double * parts_ * in_.m;
    }
    const float* float_tile(int64_t t) {
        if (!has_float_tiles_) {
            transpose(
                float_tiles_, kernels_.tile_float,
                [this](double y, size_t j) { return float((y - units_.centre[j]) * units_.narrow[j]); },
                [this](double b, size_t j) { return float(b * units_.narrow[j] * units_.narrow[j]); });
            has_float_tiles_ = true;
        }
        return float_tiles_.data() + t * kernels_.tile_float * parts_ * in_.m;
    }

  private:
    // Rows to tiles: (points, parts, width). The last tile is filled up with copies of the last curve.
    template <class T, class Value, class Variance>
    void transpose(std::vector<T>& tiles, int64_t width, const Value& value, const Variance& variance) {
        const int64_t n_tiles = (count_ + width - 1) / width;
        tiles.resize(size_t(n_tiles * width * parts_ * in_.m));
        T* out = tiles.data();
        for (int64_t t = 0; t < n_tiles; ++t) {
            const double* row[kWidestTile];
            for (int64_t c = 0; c < width; ++c)
                row[c] = rows_.data() + std::min(t * width + c, count_ - 1) * parts_ * units_.padded;
            for (int64_t j = 0; j < in_.m; ++j) {
                for (int64_t c = 0; c < width; ++c) *out++ = value(row[c][j], size_t(j));
                if (parts_ == 2)
                    for (int64_t c = 0; c < width; ++c) *out++ = variance(row[c][units_.padded + j], size_t(j));
            }
        }
    }

    const PairArrays& in_;
    const Units& units_;
    const PairKernels& kernels_;
    int64_t parts_, first_ = 0, count_ = 0;
    std::vector<double> rows_, tiles_;
    std::vector<float> float_tiles_;
    bool has_tiles_ = false, has_float_tiles_ = false;
};

// Which scores in float are good enough to be summed as they are.
//
// With u = 2^-24, A = sum_j (rounding of r_j)^2 / v_j (Cauchy-Schwarz) and the roundings of the products, a pair of true chi^2 = C
// has a score within
//     error = (2 sqrt(C A) + A + (2 m + 16) u C) / 2 + (3 m + 16) u
// of the truth. A curve `depth` nats below the best one weighs exp(-depth), so leaving all of the (at most k) curves below
//     depth = log k + log(error / tolerance) + error
// in float changes the log-sum by less than the tolerance. C is taken 30 nats deeper, below which nothing counts.
struct Screening {
    double depth, error;
    Screening(const Evidence& e, int n_points, double log_k, double max_log_weight) {
        const double u = 0x1p-24, m = n_points;
        const double deepest = log_k - std::log(kTolerance) + 2.0 * kWorstFloatError + 30.0;
        const double best = e.reference - e.float_shift;
        const double c = std::max(0.0, 2.0 * (deepest - best + max_log_weight) - e.log_v_floor);
        error = 0.5 * (2.0 * std::sqrt(c * e.value_error) + e.value_error + (2.0 * m + 16.0) * u * c) + (3.0 * m + 16.0) * u +
                4.0 * u * (std::fabs(best) + deepest);
        depth = log_k + std::log(std::max(error, kTolerance) / kTolerance) + error;
    }
};

class Worker {
  public:
    Worker(const PairArrays& arrays, const Units& units, const PairKernels& kernels, const PairOptions& options, int64_t block)
        : in_(arrays), units_(units), kernels_(kernels), block_(block), log_k_(std::log(double(arrays.k))),
          objects_(arrays, units, options.screen), curves_(arrays, units, kernels, block), list_(size_t(block)),
          row_scores_(size_t(block + kWidestTile)) {}

    void pack(int64_t begin, int64_t end, bool only_double) {
        objects_.pack(begin, end);
        const bool few = end - begin < 8;  // too few to repay the transposing of curves
        for (Pack& pack : objects_.packs) {
            if (pack.mode == Mode::careful) continue;
            if (few && pack.n_row_groups > 0) pack.mode = Mode::rows;
            if (only_double && pack.mode == Mode::screen) pack.mode = Mode::tiles;
        }
        scores_.resize(objects_.evidence.size() * size_t(block_));
        float_scores_.resize(scores_.size());
    }

    // Scores of all packed objects against curves [first, first + count).
    void score(int64_t first, int64_t count) {
        first_ = first;
        count_ = count;
        curves_.pack(first, count);
        const int shared = in_.y_sigma_shared;
        for (int64_t t = 0; t * kernels_.tile_float < count; ++t)
            for (const Pack& pack : objects_.packs)
                if (pack.mode == Mode::screen)
                    kernels_.score_float[shared][pack.n_objects - 1](objects_.in_float(pack), curves_.float_tile(t),
                                                                     &float_scores_[offset(pack) + size_t(t * kernels_.tile_float)], block_);
        for (int64_t t = 0; t * kernels_.tile_double < count; ++t)
            for (const Pack& pack : objects_.packs)
                if (pack.mode == Mode::tiles)
                    kernels_.score_double[shared][pack.n_objects - 1](objects_.in_double(pack), curves_.tile(t),
                                                                      &scores_[offset(pack) + size_t(t * kernels_.tile_double)], block_);
        for (const Pack& pack : objects_.packs) {
            if (pack.mode != Mode::rows && pack.mode != Mode::careful) continue;
            for (int64_t c = 0; c < count; ++c) list_[size_t(c)] = int32_t(c);
            for (int o = 0; o < pack.n_objects; ++o) {
                double* out = &scores_[offset(pack) + size_t(o * block_)];
                if (pack.mode == Mode::rows) {
                    kernels_.score_rows[shared](objects_.as_row(pack, o), curves_.rows(), units_.padded, list_.data(), int(count), out);
                    continue;
                }
                const int64_t object = objects_.evidence[size_t(pack.first + o)].object;
                for (int64_t c = 0; c < count; ++c)
                    out[c] = skipped(object) == c || (in_.log_weights && in_.log_weights[first + c] == -INFINITY)
                                 ? -INFINITY
                                 : careful_log_match(in_, object, first + c);
            }
        }
    }

    void add_to_evidence(PairReport& report) {
        for (Pack& pack : objects_.packs) {
            for (int o = 0; o < pack.n_objects; ++o) {
                Evidence& e = objects_.evidence[size_t(pack.first + o)];
                if (pack.mode == Mode::screen)
                    add_screened(pack, o, e);
                else
                    add_exact(&scores_[offset(pack) + size_t(o * block_)], e);
            }
            const int64_t pairs = pack.n_objects * count_;
            (pack.mode == Mode::screen ? report.screened : pack.mode == Mode::careful ? report.careful : report.in_double) += pairs;
            if (pack.mode == Mode::screen && pack.screened >= 512 && double(pack.survived) > kTooManySurvivors * double(pack.screened))
                pack.mode = Mode::tiles;
        }
    }

    void finish(double* out, PairReport& report) const {
        for (const Pack& pack : objects_.packs) report.survived += pack.survived;
        for (const Evidence& e : objects_.evidence)
            out[e.object] = e.reference == -INFINITY ? -INFINITY
                                                     : e.reference + std::log(e.sum + e.mass) + e.constant -
                                                           (in_.log_weights ? 0.0 : log_k_);
    }

    void copy_matches(double* out) const {
        for (const Pack& pack : objects_.packs)
            for (int o = 0; o < pack.n_objects; ++o) {
                const Evidence& e = objects_.evidence[size_t(pack.first + o)];
                const double* scores = &scores_[offset(pack) + size_t(o * block_)];
                for (int64_t c = 0; c < count_; ++c) out[e.object * in_.k + first_ + c] = scores[c] + e.constant;
            }
    }

  private:
    size_t offset(const Pack& pack) const { return size_t(pack.first) * size_t(block_); }
    // The place in this block of the curve that an object leaves out, or -1.
    int64_t skipped(int64_t object) const {
        if (!in_.skip || in_.skip[object] < first_ || in_.skip[object] >= first_ + count_) return -1;
        return in_.skip[object] - first_;
    }
    template <class T>
    int prepare(T* scores, int64_t object, int64_t width) const {
        if (in_.log_weights)
            for (int64_t c = 0; c < count_; ++c) scores[c] += T(in_.log_weights[first_ + c]);
        const int64_t skip = skipped(object), end = (count_ + width - 1) / width * width;
        if (skip >= 0) scores[skip] = T(-INFINITY);
        for (int64_t c = count_; c < end; ++c) scores[c] = T(-INFINITY);
        return int(end);
    }
    static void raise_reference(Evidence& e, double best) {
        if (!(best > e.reference)) return;
        const double factor = e.reference == -INFINITY ? 0.0 : std::exp(e.reference - best);
        e.sum *= factor;
        e.mass *= factor;
        e.reference = best;
    }
    void add_exact(double* scores, Evidence& e) {
        const int n = prepare(scores, e.object, kernels_.tile_double);
        raise_reference(e, kernels_.max_double(scores, n));
        if (e.reference > -INFINITY) e.sum += kernels_.exp_sum(scores, n, e.reference);
    }
    void add_screened(Pack& pack, int which, Evidence& e) {
        float* scores = &float_scores_[offset(pack) + size_t(which * block_)];
        const int n = prepare(scores, e.object, kernels_.tile_float);
        raise_reference(e, double(kernels_.max_float(scores, n)) + e.float_shift);
        pack.screened += count_;
        if (e.reference == -INFINITY) return;
        const Screening limit(e, pack.n_points, log_k_, units_.max_log_weight);
        const double best = e.reference - e.float_shift;
        const bool useless = !(limit.error <= kWorstFloatError);
        const int found = kernels_.split(scores, n, float(best), useless ? -INFINITY : float(best - limit.depth), list_.data(), &e.mass);
        pack.survived += found;
        if (found == 0) return;
        kernels_.score_rows[in_.y_sigma_shared](objects_.as_row(pack, which), curves_.rows(), units_.padded, list_.data(), found,
                                                row_scores_.data());
        int end = found;
        if (in_.log_weights)
            for (int c = 0; c < found; ++c) row_scores_[size_t(c)] += in_.log_weights[first_ + list_[size_t(c)]];
        for (; end % kernels_.tile_double; ++end) row_scores_[size_t(end)] = -INFINITY;
        e.sum += kernels_.exp_sum(row_scores_.data(), end, e.reference);
    }

    const PairArrays& in_;
    const Units& units_;
    const PairKernels& kernels_;
    int64_t block_, first_ = 0, count_ = 0;
    double log_k_;
    PackedObjects objects_;
    PackedCurves curves_;
    std::vector<double> scores_;
    std::vector<float> float_scores_;
    std::vector<int32_t> list_;
    std::vector<double> row_scores_;
};

int64_t round_up(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// Sizes depend on the problem only, never on the threads, so that results do not either.
int64_t curves_per_block(const PairArrays& in, const PairOptions& options) {
    int64_t size = options.curves_per_block;
    if (size <= 0) size = std::clamp<int64_t>(kCacheBytes / (24 * in.m + 1), 32, 512) / kWidestTile * kWidestTile;
    return round_up(std::min(size, in.k), kWidestTile);
}
int64_t objects_per_block(const PairArrays& in, const PairOptions& options) {
    if (options.objects_per_block > 0) return options.objects_per_block;
    const int64_t fits = std::max<int64_t>(1, kObjectBytes / (56 * in.m));
    return std::min(fits, std::clamp<int64_t>((in.n + 63) / 64, 64, 512));
}

template <class PerBlock, class Finish>
PairReport walk(const PairArrays& in, const PairKernels& kernels, const PairOptions& options, bool only_double,
                const PerBlock& per_block, const Finish& finish) {
    PairReport total;
    if (in.n == 0) return total;
    const Units units(in);
    const int64_t objects = objects_per_block(in, options), curves = curves_per_block(in, options);
    std::mutex mutex;
    Blocks blocks((in.n + objects - 1) / objects, options.interrupted);
    blocks.run(options.n_threads, [&](Blocks& queue) {
        Worker worker(in, units, kernels, options, curves);
        PairReport report;
        for (int64_t block; queue.next(block);) {
            worker.pack(block * objects, std::min(in.n, (block + 1) * objects), only_double);
            for (int64_t first = 0; first < in.k; first += curves) {
                queue.check();
                worker.score(first, std::min(curves, in.k - first));
                per_block(worker, report);
            }
            finish(worker, report);
        }
        std::lock_guard<std::mutex> lock(mutex);
        total.screened += report.screened;
        total.survived += report.survived;
        total.in_double += report.in_double;
        total.careful += report.careful;
    });
    return total;
}

}  // namespace

PairReport pair_logsumexp(const PairArrays& in, const PairKernels& kernels, const PairOptions& options, double* out) {
    return walk(
        in, kernels, options, false, [](Worker& worker, PairReport& report) { worker.add_to_evidence(report); },
        [out](Worker& worker, PairReport& report) { worker.finish(out, report); });
}

PairReport pair_log_match(const PairArrays& in, const PairKernels& kernels, const PairOptions& options, double* out) {
    return walk(
        in, kernels, options, true, [out](Worker& worker, PairReport&) { worker.copy_matches(out); },
        [](Worker&, PairReport&) {});
}

}  // namespace badac
