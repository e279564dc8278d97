// The walk over blocks: objects packed once, curves packed block by block, scores summed as they come.
#include "pair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "aligned.hpp"
#include "heed.hpp"
#include "pair_bounds.hpp"
#include "pair_curves.hpp"
#include "pair_objects.hpp"
#include "pair_order.hpp"
#include "pair_screening.hpp"
#include "pair_units.hpp"
#include "threads.hpp"

namespace badac {
namespace {

constexpr int kPacksAtOnce = 32;
constexpr int64_t kCacheBytes = 300 << 10, kObjectBytes = 16 << 20;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWorstFloatError = 2.0;
constexpr int kCuts = 6;
constexpr double kTooManySurvivors = 0.35;
constexpr double kTie = 1e-3, kRounding = 1e-13;  // nats beyond what float may be off; of scores in double that are taken for equal
constexpr int kNearest = 3;  // tiles of curves that an object meets first: two to four cost the same
constexpr int64_t kObjectsToSortFor = 4 * kWidestTile;
constexpr int64_t kRowsAlong = 512;  // block size: rows that a thread takes at once along the directions

// The order in which curves and objects meet, and what is known of them before they do.
struct Plan {
    CurveOrder order;
    std::vector<int32_t> objects;             // empty: as given
    std::unique_ptr<Directions> directions;
    std::unique_ptr<Bounds> bounds;           // null: nothing is known
};

Plan plan(const PairArrays& in, const Units& units, int64_t width, const PairOptions& options, Poll& poll) {
    Plan out;
    if (in.n < kObjectsToSortFor || in.k < 4 * kWidestTile || in.k > INT32_MAX || in.n > INT32_MAX) return out;
    out.directions = std::make_unique<Directions>(in, units, poll);
    const auto all = [&](int64_t n, const auto& one) {
        std::vector<Along> rows(static_cast<size_t>(n));
        Blocks blocks((n + kRowsAlong - 1) / kRowsAlong, options.interrupted);
        blocks.run(options.n_threads, [&](Blocks& queue) {
            for (int64_t block; queue.next(block);)
                for (int64_t i = block * kRowsAlong; i < std::min(n, (block + 1) * kRowsAlong); ++i) {
                    queue.check();
                    rows[size_t(i)] = one(i);
                }
        });
        return rows;
    };
    const std::vector<Along> curves = all(in.k, [&](int64_t i) { return out.directions->of_curve(i); });
    out.order.curves = similar_together(curves, width, poll);
    out.order.places.resize(out.order.curves.size());
    for (size_t i = 0; i < out.order.curves.size(); ++i) out.order.places[size_t(out.order.curves[i])] = int32_t(i);
    out.bounds = std::make_unique<Bounds>(in, units, *out.directions, curves, out.order, width, poll);
    out.objects = similar_together(all(in.n, [&](int64_t i) { return out.directions->of_object(i); }), kMaxPack, poll);
    return out;
}

template <class T>
struct Span {
    T *first, *last;
    T* begin() const { return first; }
    T* end() const { return last; }
};

// Where fractions of one type are kept for a few packs and one block of curves, and one object's scores that count.
template <class T>
struct Scores {
    AlignedVector<T> num, den, score;
    explicit Scores(int64_t block)
        : num(size_t(kPacksAtOnce * kMaxPack * block)), den(num.size(), T(1)), score(size_t(block + kWidestTile)) {}
};

class Worker {
  public:
    Worker(const PairArrays& arrays, const Units& units, const PairKernels& kernels, const PairOptions& options, const Plan& plan,
           CurveStore& store)
        : in_(arrays), units_(units), kernels_(kernels), order_(plan.order), bounds_(plan.bounds.get()), store_(store), block_(store.per_block()),
          shared_(arrays.y_sigma_shared ? 1 : 0), log_k_(std::log(double(arrays.k))), objects_(arrays, units, plan.objects, options.screen),
          only_best_(options.only_best), double_(block_), float_(block_), tiles_(int(block_ / kernels.tile_float)), open_(size_t(kPacksAtOnce * tiles_)),
          tile_log_v_(open_.size() * kMaxPack), bound_(size_t(2 * (tiles_ + kWidestTile))), place_(size_t(block_ + kWidestTile)),
          row_num_(place_.size()), row_den_(place_.size(), 1.0) {}

    void pack(int64_t begin, int64_t end, bool only_double) {
        objects_.pack(begin, end);
        const bool few = end - begin < 8;  // too few to repay the transposing of curves
        for (Pack& pack : objects_.packs) {
            if (pack.mode == Mode::careful) continue;
            if (few && pack.n_row_groups > 0) pack.mode = Mode::rows;
            if (only_double && pack.mode == Mode::screen) pack.mode = Mode::tiles;
            pack.can_screen = pack.mode == Mode::screen;
        }
        if (bounds_) bound_objects();
    }

    // Which curves are looked at: all that may matter, or only the nearest, in single precision.
    enum class Which { all, nearest };

    // Go through a block of curves with all packed objects; `use` is called with a few packs at a time, whose fractions
    // are then at hand. A few, so that they, their scores and the curves stay in the cache of a core.
    template <class Use>
    void score(int64_t block, Which which, const Use& use) {
        if (which == Which::nearest && !wanted_[size_t(block)]) return;
        first_ = block * block_;
        count_ = std::min(block_, in_.k - first_);
        curves_ = &store_.block(block, scratch_);
        for (size_t p = 0; p < objects_.packs.size(); p += size_t(kPacksAtOnce)) {
            Span<Pack> packs{&objects_.packs[p], &objects_.packs[0] + std::min(p + size_t(kPacksAtOnce), objects_.packs.size())};
            origin_ = packs.begin()->first;
            choose_tiles(packs, which);
            score_screened(packs);
            if (which == Which::all) score_double(packs);
            use(packs);
        }
    }

    // Only look for a good match: the better the reference, the fewer curves count.
    void find_reference(Span<Pack> packs) {
        for (Pack& pack : packs)
            for (int o = 0; o < pack.n_objects; ++o) {
                if (pack.mode != Mode::screen || !any_open_[size_t(&pack - packs.begin())]) continue;
                Evidence& e = objects_.evidence[size_t(pack.first + o)];
                float best;
                if (finish_float(pack, o, best) == 0 || !raise_reference_by_float(pack, e, best)) continue;
                if (!pack.can_screen) e.reference = -kInfinity;
            }
    }

    // Sums of all matches, or (`only_best`) the best one of them.
    void add_to_evidence(Span<Pack> packs, PairReport& report) {
        for (Pack& pack : packs) {
            const int64_t pairs = pack.n_objects * count_;
            int64_t counted = 0;
            const bool open = any_open_[size_t(&pack - packs.begin())];
            for (int o = 0; open && o < pack.n_objects; ++o) counted += pack.mode == Mode::screen ? add_screened(pack, o) : add_exact(pack, o);
            if (pack.mode == Mode::screen) report.survived += counted;
            (pack.mode == Mode::screen ? report.screened : pack.mode == Mode::careful ? report.careful : report.in_double) += pairs;
            // Curves come in an order that makes the next block much like this one.
            if (pack.mode == Mode::screen || pack.can_screen)
                pack.mode = pack.can_screen && double(counted) < kTooManySurvivors * double(pairs) ? Mode::screen : Mode::tiles;
        }
    }

    void finish(double* out) const {
        for (const Evidence& e : objects_.evidence)
            out[e.object] = e.reference == -kInfinity ? -kInfinity
                                                      : e.reference + std::log(e.sum + e.mass) + e.constant -
                                                            (in_.log_weights ? 0.0 : log_k_);
    }

    void finish(int64_t* out) const {
        for (const Evidence& e : objects_.evidence) out[e.object] = e.best_curve;
    }

    void copy_matches(Span<Pack> packs, double* out) {
        for (const Pack& pack : packs)
            for (int o = 0; o < pack.n_objects; ++o) {
                const Evidence& e = objects_.evidence[size_t(pack.first + o)];
                double best;
                finish_double(pack, o, kInfinity, best);  // nothing is above this limit, so all are there and in order
                for (int64_t c = 0; c < count_; ++c) out[e.object * in_.k + first_ + c] = double_.score[size_t(c)] + e.constant;
            }
    }

  private:
    size_t at(const Pack& pack, int which) const { return size_t(pack.first - origin_ + which) * size_t(block_); }

    // Objects along the directions, and the nearest tiles of each.
    void bound_objects() {
        const TileBounds tiles = bounds_->tiles();
        const int n_tiles = int(bounds_->n_tiles()), per_block = tiles_;
        object_bounds_.resize(objects_.evidence.size());
        nearest_.assign(objects_.evidence.size() * kNearest, -1);
        wanted_.assign(size_t((in_.k + block_ - 1) / block_), 0);
        std::vector<float>& chi2 = distance_;
        chi2.resize(size_t(2 * tiles.stride));
        for (Pack& pack : objects_.packs) {
            pack.bounded = pack.complete && pack.mode == Mode::screen;
            for (int o = 0; o < pack.n_objects && pack.mode == Mode::screen; ++o) {
                attention_.spent(4 * kDirections * (in_.m + n_tiles));
                const size_t i = size_t(pack.first + o);
                object_bounds_[i] = bounds_->object(objects_.evidence[i].object, objects_.evidence[i].float_log_v_floor);
                kernels_.bound_tiles(object_bounds_[i], tiles, 0, n_tiles, chi2.data(), chi2.data() + tiles.stride);
                int32_t* nearest = &nearest_[i * kNearest];
                for (int t = 0; t < n_tiles; ++t) {
                    int at = kNearest;
                    while (at > 0 && (nearest[at - 1] < 0 || chi2[size_t(t)] < chi2[size_t(nearest[at - 1])])) --at;
                    if (at == kNearest) continue;
                    std::copy_backward(nearest + at, nearest + kNearest - 1, nearest + kNearest);
                    nearest[at] = t;
                }
                for (int at = 0; at < kNearest; ++at)
                    if (nearest[at] >= 0) wanted_[size_t(nearest[at] / per_block)] = 1;
            }
        }
    }

    // The tiles of this block that each pack looks into.
    void choose_tiles(Span<Pack> packs, Which which) {
        const int n = int((count_ + kernels_.tile_float - 1) / kernels_.tile_float);
        const int64_t first_tile = first_ / kernels_.tile_float;
        for (Pack& pack : packs) {
            const size_t p = size_t(&pack - packs.begin());
            uint8_t* open = &open_[p * size_t(tiles_)];
            float* log_v = &tile_log_v_[p * size_t(tiles_) * kMaxPack];
            std::fill_n(open, n, uint8_t(which == Which::all && !pack.bounded));
            std::fill_n(log_v, size_t(tiles_) * kMaxPack, 0.0f);
            for (int o = 0; o < pack.n_objects; ++o) {
                const size_t i = size_t(pack.first + o);
                const Evidence& e = objects_.evidence[i];
                float* own = log_v + o * tiles_;
                if (which == Which::nearest) {
                    if (pack.mode != Mode::screen) continue;
                    for (int at = 0; at < kNearest; ++at) {
                        const int64_t tile = nearest_[i * kNearest + size_t(at)] - first_tile;
                        if (tile >= 0 && tile < n) open[tile] = 1;
                    }
                }
                if (!pack.bounded) {
                    std::fill_n(own, n, float(pack.n_float_groups > 1 ? 0.0 : e.float_log_v_floor));
                    continue;
                }
                float *chi2 = bound_.data(), *logs = chi2 + tiles_ + kWidestTile;
                kernels_.bound_tiles(object_bounds_[i], bounds_->tiles(), first_tile, n, chi2, logs);
                std::copy_n(logs, n, own);
                if (which == Which::nearest) continue;
                const float limit = chi2_and_log_v_limit(e);
                for (int t = 0; t < n; ++t) open[t] |= !(chi2[t] * 0.9999f + own[t] > limit);
            }
            any_open_[p] = std::any_of(open, open + n, [](uint8_t one) { return one != 0; });
        }
    }

    void score_screened(Span<Pack> packs) {
        screened_.clear();
        for (const Pack& pack : packs)
            if (pack.mode == Mode::screen && any_open_[size_t(&pack - packs.begin())]) {
                screened_.push_back({&pack, size_t(&pack - packs.begin()) * size_t(tiles_), objects_.in_float(pack), {}});
                for (int o = 0; o < pack.n_objects; ++o)
                    screened_.back().limit[o] = chi2_and_log_v_limit(objects_.evidence[size_t(pack.first + o)]);
            }
        if (screened_.empty()) return;
        const float* tile = curves_->float_tiles();
        for (int64_t c = 0, t = 0; c < count_; c += kernels_.tile_float, ++t, tile += curves_->float_tile_size())
            for (Screened& one : screened_) {
                const Pack& pack = *one.pack;
                float *num = &float_.num[at(pack, 0) + size_t(c)], *den = &float_.den[at(pack, 0) + size_t(c)];
                if (!open_[one.tiles + size_t(t)]) {
                    leave_out(pack, num, den, kernels_.tile_float);
                    continue;
                }
                attention_.spent(pack.n_points * kernels_.tile_float);
                for (int o = 0; o < pack.n_objects; ++o)
                    one.view.limit[o] = one.limit[o] - tile_log_v_[one.tiles * kMaxPack + size_t(o * tiles_ + t)];
                kernels_.score_float[shared_][pack.n_objects - 1](one.view, tile, num, den, block_);
            }
    }
    // Curves that cannot matter.
    template <class T>
    void leave_out(const Pack& pack, T* num, T* den, int width) const {
        for (int o = 0; o < pack.n_objects; ++o, num += block_, den += block_) std::fill_n(num, width, T(kInfinity)), std::fill_n(den, width, T(1));
    }
    void score_double(Span<Pack> packs) {
        const auto in_tiles = [&](const Pack& pack) { return pack.mode == Mode::tiles && any_open_[size_t(&pack - packs.begin())]; };
        const bool any = std::any_of(packs.begin(), packs.end(), in_tiles);
        const double* tile = any ? curves_->tiles() : nullptr;
        for (int64_t c = 0; any && c < count_; c += kernels_.tile_double, tile += curves_->tile_size())
            for (const Pack& pack : packs)
                if (in_tiles(pack)) {
                    double *num = &double_.num[at(pack, 0) + size_t(c)], *den = &double_.den[at(pack, 0) + size_t(c)];
                    if (!open_[size_t(&pack - packs.begin()) * size_t(tiles_) + size_t(c / kernels_.tile_float)]) {
                        leave_out(pack, num, den, kernels_.tile_double);
                        continue;
                    }
                    attention_.spent(pack.n_points * kernels_.tile_double);
                    kernels_.score_double[shared_][pack.n_objects - 1](objects_.in_double(pack), tile, num, den, block_);
                }
        for (const Pack& pack : packs) {
            for (int o = 0; o < pack.n_objects; ++o) {
                if (pack.mode == Mode::rows) {
                    for (int64_t c = 0; c < count_; ++c) place_[size_t(c)] = int32_t(c);
                    kernels_.score_rows[shared_](objects_.as_row(pack, o), curves_->rows(), units_.padded, place_.data(), int(count_),
                                                 &double_.num[at(pack, o)], &double_.den[at(pack, o)]);
                }
                if (pack.mode == Mode::careful) score_carefully(pack, o);
            }
        }
    }

    // As fractions, the log matches of an object that the fast paths cannot take: num/den + log den = -2 log_match.
    void score_carefully(const Pack& pack, int which) {
        const int64_t object = objects_.evidence[size_t(pack.first + which)].object;
        for (int64_t c = 0; c < count_; ++c) {
            attention_.spent(50 * in_.m);  // a hypotenuse and a logarithm a point
            const int64_t curve = order_.curve(first_ + c);
            const bool counts = skipped(object) != c && !(in_.log_weights && in_.log_weights[curve] == -kInfinity);
            double_.num[at(pack, which) + size_t(c)] = counts ? -2.0 * careful_log_match(in_, object, curve) : kInfinity;
            double_.den[at(pack, which) + size_t(c)] = 1.0;
        }
    }
    // The place in this block of the curve that an object leaves out, or -1.
    int64_t skipped(int64_t object) const {
        if (!in_.skip || in_.skip[object] < 0) return -1;
        const int64_t place = order_.place(in_.skip[object]) - first_;
        return place >= 0 && place < count_ ? place : -1;
    }
    // A curve that does not count gets chi^2 = infinity, and so do those that fill up the last tile. Returns the filled length.
    template <class T>
    int close(T* num, T* den, int64_t object, int64_t width) const {
        const int64_t skip = skipped(object), end = round_up(count_, width);
        for (int64_t c = skip >= 0 ? skip : count_; c < end; c = std::max(c + 1, count_)) num[c] = T(kInfinity), den[c] = T(1);
        return int(end);
    }
    // A bound on num/den above which a pair is `depth` nats or more below the reference, whatever its variances and weight. A pack
    // of several groups has its logarithms in num already (score_general): no floor for them then.
    double limit(const Evidence& e, double reference, double depth, double log_v_floor) const {
        return e.reference == -kInfinity ? kInfinity : 2.0 * (depth - reference + units_.max_log_weight) - log_v_floor;
    }
    // Pairs whose chi^2 + sum log v, in float units, is above this count for nothing: a tenth of the tolerance if all curves were there,
    // or worse than the best one by more than both may be off.
    float chi2_and_log_v_limit(const Evidence& e) const {
        const double error = e.reference == e.screening.reference ? e.screening.error : kWorstFloatError;
        const double depth = only_best_ ? kTie + 2.0 * error : std::min(80.0, log_k_ - std::log(0.1 * tolerance(e, log_k_, !in_.log_weights))) + 2.0 * error;
        return float(limit(e, e.reference - e.float_shift, depth, 0.0));
    }
    float float_limit(const Pack& pack, int which) const {
        const Evidence& e = objects_.evidence[size_t(pack.first + which)];
        return chi2_and_log_v_limit(e) - float(pack.n_float_groups > 1 ? 0.0 : e.float_log_v_floor);
    }
    template <class T>
    void add_weights(T* scores, const int32_t* place, int n, T& best) const {
        if (!in_.log_weights) return;
        best = -T(kInfinity);
        for (int i = 0; i < n; ++i) {
            scores[i] = place[i] < count_ ? scores[i] + T(in_.log_weights[order_.curve(first_ + place[i])]) : -T(kInfinity);
            best = std::max(best, scores[i]);
        }
    }
    int finish_double(const Pack& pack, int which, double limit, double& best) {
        const Evidence& e = objects_.evidence[size_t(pack.first + which)];
        double *num = &double_.num[at(pack, which)], *den = &double_.den[at(pack, which)];
        const int n = close(num, den, e.object, kernels_.tile_double);
        // The careful path has put -2 log_match in num, which may be negative: no limit holds for it.
        if (pack.mode == Mode::careful) limit = kInfinity;
        const int mode = pack.mode == Mode::careful ? 1 : shared_;
        const int found = kernels_.finish_double[mode](num, den, n, limit, place_.data(), double_.score.data(), &best);
        add_weights(double_.score.data(), place_.data(), found, best);
        return found;
    }
    static void raise_reference(Evidence& e, double best) {
        if (!(best > e.reference)) return;
        const double factor = e.reference == -kInfinity ? 0.0 : std::exp(e.reference - best);
        e.sum *= factor;
        e.mass *= factor;
        e.reference = best;
    }
    int finish_float(const Pack& pack, int which, float& best) {
        float *num = &float_.num[at(pack, which)], *den = &float_.den[at(pack, which)];
        const int n = close(num, den, objects_.evidence[size_t(pack.first + which)].object, kernels_.tile_float);
        const int found = kernels_.finish_float[shared_](num, den, n, float_limit(pack, which), place_.data(), float_.score.data(), &best);
        add_weights(float_.score.data(), place_.data(), found, best);
        return found;
    }
    // False if nothing counts yet. If float cannot tell the curves of a pack apart, the pack leaves the screening.
    bool raise_reference_by_float(Pack& pack, Evidence& e, float best) {
        if (best == -std::numeric_limits<float>::infinity() && e.reference == -kInfinity) return false;
        raise_reference(e, double(best) + e.float_shift);
        if (e.reference != e.screening.reference) e.screening = screen(e, pack.n_points, log_k_, units_.max_log_weight, tolerance(e, log_k_, !in_.log_weights));
        if (!(e.screening.error <= kWorstFloatError)) pack.can_screen = false;
        return true;
    }

    // How far below the reference scores are computed in double; see `Evidence::shallow`.
    double cut_depth(const Evidence& e) const { return only_best_ ? kTie + 2.0 * e.screening.error : e.screening.safe_depth - log_k_ * e.shallow / kCuts; }

    // Both return how many curves of this block count, about: those that screening has to compute in double.
    int add_exact(const Pack& pack, int which) {
        Evidence& e = objects_.evidence[size_t(pack.first + which)];
        double best;
        const int groups = pack.mode == Mode::rows ? pack.n_row_groups : pack.n_groups;
        const int found = finish_double(pack, which, limit(e, e.reference, 62.0, groups > 1 ? 0.0 : e.log_v_floor), best);
        if (found == 0) return 0;
        raise_reference(e, best);
        if (e.reference == -kInfinity) return 0;
        if (only_best_) keep_best(e, place_.data(), found);
        else e.sum += kernels_.exp_sum(double_.score.data(), found, e.reference);
        if (!pack.can_screen) return found;
        const double cut = e.reference - cut_depth(e);
        return int(std::count_if(double_.score.begin(), double_.score.begin() + found, [cut](double score) { return score > cut; }));
    }
    int add_screened(Pack& pack, int which) {
        Evidence& e = objects_.evidence[size_t(pack.first + which)];
        const Evidence before = e;
        float best;
        int found = finish_float(pack, which, best);
        if (found == 0 || !raise_reference_by_float(pack, e, best)) return 0;
        const bool hopeless = !(e.screening.error <= kWorstFloatError);
        if (hopeless) {
            // The error only falls as the reference rises, so this is the first block that counts and all of it is at hand: take
            // its reference from double.
            e = before;
            found = int(count_);
            for (int c = 0; c < found; ++c) survivors_[size_t(c)] = c;
        } else {
            // The safe depth allows for all curves at the cut; there are mostly few, so try a shallower cut and look at the mass.
            // Half of what the sum allows is there from the start, the rest as the curves come.
            const float reference = float(e.reference - e.float_shift);
            const double seen = double(first_ + count_) / double(in_.k);
            const double allowed = e.screening.allowed_mass * std::max(1.0, e.sum) * (0.5 + 0.5 * seen) - e.mass;
            const int scored = found;
            double mass;
            for (e.shallow = std::min(kCuts, e.shallow + 1);; --e.shallow) {
                mass = 0.0;
                found = kernels_.split(float_.score.data(), place_.data(), scored, reference, float(reference - cut_depth(e)),
                                       survivors_.data(), &mass);
                // At the safe depth a block stays within its share, whatever the mass.
                if (only_best_ || mass <= allowed || e.shallow == 0) break;
            }
            e.mass += mass;
        }
        if (found == 0) return 0;
        kernels_.score_rows[shared_](objects_.as_row(pack, which), curves_->rows(), units_.padded, survivors_.data(), found, row_num_.data(),
                                     row_den_.data());
        int end = found;
        for (; end % kernels_.tile_double; ++end) {
            row_num_[size_t(end)] = kInfinity;
            row_den_[size_t(end)] = 1.0;
            survivors_[size_t(end)] = int32_t(count_);  // beyond the curves: weighs nothing
        }
        if (hopeless && skipped(e.object) >= 0) row_num_[size_t(skipped(e.object))] = kInfinity;  // otherwise no survivor
        double exact_best;
        kernels_.finish_double[shared_](row_num_.data(), row_den_.data(), end, kInfinity, place_.data(), double_.score.data(),
                                        &exact_best);
        add_weights(double_.score.data(), survivors_.data(), end, exact_best);
        if (hopeless) raise_reference(e, exact_best);
        if (e.reference > -kInfinity) {
            if (only_best_) keep_best(e, survivors_.data(), end);
            else e.sum += kernels_.exp_sum(double_.score.data(), end, e.reference);
        }
        return found;
    }
    // The best of the scores in double that are at hand; the first one of those that agree to rounding.
    void keep_best(Evidence& e, const int32_t* place, int n) const {
        for (int i = 0; i < n; ++i) {
            const double score = double_.score[size_t(i)], tie = e.best == -kInfinity ? 0.0 : kRounding * std::max(1.0, std::fabs(e.best));
            if (!(score >= e.best - tie) || score == -kInfinity || place[i] >= count_) continue;
            const int64_t curve = order_.curve(first_ + place[i]);
            if (score <= e.best + tie && curve > e.best_curve) continue;
            e.best = std::max(e.best, score);
            e.best_curve = curve;
        }
    }

    const PairArrays& in_;
    const Units& units_;
    const PairKernels& kernels_;
    const CurveOrder& order_;
    const Bounds* bounds_;
    CurveStore& store_;
    int64_t block_, first_ = 0, count_ = 0;
    int shared_, origin_ = 0;  // origin_: the first object of the packs at hand
    double log_k_;
    Attention attention_;
    PackedObjects objects_;
    bool only_best_;  // the best curve is looked for, not the sum over all
    PackedCurves* curves_ = nullptr;
    std::unique_ptr<PackedCurves> scratch_;
    Scores<double> double_;
    Scores<float> float_;
    struct Screened {
        const Pack* pack;
        size_t tiles;  // where its tiles are in `open_`
        ObjectPack<float> view;
        float limit[kMaxPack];
    };
    std::vector<Screened> screened_;
    int tiles_;                     // in a block
    std::vector<uint8_t> open_;     // (packs, tiles) whether a tile is looked into
    std::vector<float> tile_log_v_;  // (packs, objects, tiles) the least sum log v
    std::vector<float> bound_, distance_;
    bool any_open_[kPacksAtOnce];
    std::vector<ObjectBounds> object_bounds_;  // (objects)
    std::vector<int32_t> nearest_;             // (objects, kNearest) tiles
    std::vector<uint8_t> wanted_;              // (blocks) whether it has a tile that is nearest to an object
    std::vector<int32_t> place_, survivors_ = place_;
    AlignedVector<double> row_num_, row_den_;
};

// Sizes depend on the problem only, never on the threads, so that results do not either.
int64_t curves_per_block(const PairArrays& in, const PairOptions& options) {
    int64_t size = options.curves_per_block;
    if (size <= 0) size = std::clamp<int64_t>(kCacheBytes / (24 * in.m + 1), 32, 512) / kWidestTile * kWidestTile;
    return round_up(std::min(size, in.k), kWidestTile);
}
int64_t objects_per_block(const PairArrays& in, const PairOptions& options) {
    if (options.objects_per_block > 0) return std::min(options.objects_per_block, in.n);
    const int64_t fits = std::max<int64_t>(1, kObjectBytes / (56 * in.m));
    return std::min(fits, std::clamp<int64_t>((in.n + 15) / 16, 64, 512));
}

template <class Use, class Finish>
PairReport walk(const PairArrays& in, const PairKernels& kernels, const PairOptions& options, bool only_double,
                const Use& use, const Finish& finish) {
    PairReport total;
    if (in.n == 0) return total;
    Poll poll(options.interrupted);
    const Units units(in, poll);
    const int64_t objects = objects_per_block(in, options), curves = curves_per_block(in, options);
    const Plan planned = only_double || !options.screen ? Plan{} : plan(in, units, kernels.tile_float, options, poll);
    CurveStore store(in, units, kernels, planned.order, curves, in.n > objects);
    std::mutex mutex;
    Blocks blocks((in.n + objects - 1) / objects, options.interrupted);
    blocks.run(options.n_threads, [&](Blocks& queue) {
        Worker worker(in, units, kernels, options, planned, store);
        PairReport report;
        for (int64_t block; queue.next(block);) {
            worker.pack(block * objects, std::min(in.n, (block + 1) * objects), only_double);
            for (int64_t c = 0; planned.bounds && c * curves < in.k; ++c)
                worker.score(c, Worker::Which::nearest, [&](Span<Pack> packs) { worker.find_reference(packs); });
            for (int64_t c = 0; c * curves < in.k; ++c) {
                worker.score(c, Worker::Which::all, [&](Span<Pack> packs) {
                    queue.check();
                    use(worker, packs, report);
                });
            }
            finish(worker);
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
        in, kernels, options, false, [](Worker& worker, Span<Pack> packs, PairReport& report) { worker.add_to_evidence(packs, report); },
        [out](Worker& worker) { worker.finish(out); });
}

PairReport pair_best(const PairArrays& in, const PairKernels& kernels, PairOptions options, int64_t* out) {
    options.only_best = true;
    return walk(
        in, kernels, options, false, [](Worker& worker, Span<Pack> packs, PairReport& report) { worker.add_to_evidence(packs, report); },
        [out](Worker& worker) { worker.finish(out); });
}

PairReport pair_log_match(const PairArrays& in, const PairKernels& kernels, const PairOptions& options, double* out) {
    return walk(
        in, kernels, options, true, [out](Worker& worker, Span<Pack> packs, PairReport&) { worker.copy_matches(packs, out); },
        [](Worker&) {});
}

}  // namespace badac
