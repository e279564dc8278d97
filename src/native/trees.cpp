// Randomised trees: grown one tree a block, walked one tree after the other by blocks of rows.
// Twin: badac/_kernels/trees.py, to the last bit: chance, thresholds and scores are computed in the same order there.
#include "trees.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "door.hpp"
#include "heed.hpp"

namespace badac {
namespace {

using Singles = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IndexMatrix = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Shorts = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FlagMatrix = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Values that differ by less do not differ: SAME of the twin.
constexpr double kSame = 1e-7;
// Rows of a node for each class from which on the classes are counted one after the other, by cost.
constexpr int64_t kFew = 8;
// Rows that are walked down a tree side by side.
constexpr int kWalkers = 8;

// Splitmix64 (Steele, Lea & Flood 2014).
class Chance {
  public:
    explicit Chance(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    double uniform() { return double(next() >> 11) * 0x1p-53; }

  private:
    uint64_t state_;
};

struct Tree {
    std::vector<int32_t> question, yes, no;
    std::vector<double> threshold;
    std::vector<uint8_t> gap_is_yes;
    std::vector<float> share;
    int64_t leaves = 0;
};

struct Growth {
    const float* seen;  // (f, r): a number of all rows together
    const int64_t* label;
    int64_t n_rows, n_numbers, n_drawn;
    int n_classes;
    int64_t n_tried, least_in_leaf;
};

class Grower {
  public:
    explicit Grower(const Growth& in)
        : in_(in), rows_(size_t(in.n_drawn)), aside_(size_t(in.n_drawn)), labels_(size_t(in.n_drawn)), values_(size_t(in.n_drawn)),
          order_(size_t(in.n_numbers)), count_(size_t(in.n_classes)), of_yes_(size_t(in.n_classes)) {}

    Tree grow(const int64_t* drawn, uint64_t seed) {
        Tree tree;
        Chance chance(seed);
        in_order_of_class(drawn);
        for (size_t i = 0; i < order_.size(); ++i) order_[i] = int64_t(i);
        struct Waiting {
            int64_t first, last;
            int32_t above;
            bool is_yes;
        };
        std::vector<Waiting> waiting{{0, in_.n_drawn, -1, true}};
        while (!waiting.empty()) {
            const Waiting next = waiting.back();
            waiting.pop_back();
            const int32_t here = int32_t(tree.question.size());
            if (next.above >= 0) (next.is_yes ? tree.yes : tree.no)[size_t(next.above)] = here;
            const int64_t n = next.last - next.first;
            std::fill(count_.begin(), count_.end(), 0);
            for (int64_t i = 0; i < n; ++i) {
                const int64_t own = in_.label[rows_[size_t(next.first + i)]];
                labels_[size_t(i)] = int32_t(own), ++count_[size_t(own)];
            }
            const int64_t most = *std::max_element(count_.begin(), count_.end());
            Split best;
            if (n >= 2 * in_.least_in_leaf && most < n) best = split(next.first, next.last, chance);
            tree.question.push_back(int32_t(best.number));
            tree.threshold.push_back(best.number < 0 ? 0.0 : best.threshold);
            tree.gap_is_yes.push_back(best.gap_is_yes);
            if (best.number < 0) {
                tree.yes.push_back(int32_t(tree.leaves)), tree.no.push_back(int32_t(tree.leaves));
                ++tree.leaves;
                for (const int64_t c : count_) tree.share.push_back(float(double(c) / double(std::max<int64_t>(n, 1))));
                continue;
            }
            tree.yes.push_back(-1), tree.no.push_back(-1);
            const int64_t middle = part(next.first, next.last, best);
            waiting.push_back({middle, next.last, here, false});
            waiting.push_back({next.first, middle, here, true});
        }
        return tree;
    }

  private:
    struct Split {
        double score = -1.0, threshold = 0.0;
        int64_t number = -1;
        bool gap_is_yes = false;
    };

    Split split(int64_t first, int64_t last, Chance& chance) {
        Split best;
        const int64_t n = last - first, f = in_.n_numbers;
        int64_t tried = 0;
        for (int64_t place = 0; place < f && tried < in_.n_tried; ++place) {
            const int64_t other = place + int64_t(chance.next() % uint64_t(f - place));
            std::swap(order_[size_t(place)], order_[size_t(other)]);
            const int64_t number = order_[size_t(place)];
            const float* column = in_.seen + number * in_.n_rows;
            const int32_t* rows = rows_.data() + first;
            float* values = values_.data();
            for (int64_t i = 0; i < n; ++i) values[i] = column[rows[i]];
            float low = std::numeric_limits<float>::infinity(), high = -low;
            int64_t gaps = 0;
            range(values, n, low, high, gaps);
            attention_.spent(4 * n + 16);
            if (gaps == n) continue;
            const double least = double(low), largest = double(high);
            const bool differ = largest > least + kSame;
            if (!differ && gaps == 0) continue;
            ++tried;
            double threshold = largest;
            if (differ) {
                threshold = least + chance.uniform() * (largest - least);
                if (threshold >= largest) threshold = least;
            }
            // The largest single precision number that is not above the threshold tells the same rows apart.
            float at = float(threshold);
            if (double(at) > threshold) at = std::nextafterf(at, -std::numeric_limits<float>::infinity());
            int64_t below = count_below(n, at);
            bool gap_is_yes = false;
            if (differ) gap_is_yes = gaps > 0 ? chance.next() >> 63 == 1 : 2 * below > n;
            if (gap_is_yes && gaps > 0) {
                below += gaps;
                for (int64_t i = 0; i < n; ++i) of_yes_[size_t(labels_[size_t(i)])] += values[i] != values[i];
            }
            if (std::min(below, n - below) < in_.least_in_leaf) continue;
            int64_t yes = 0, no = 0;
            for (size_t k = 0; k < count_.size(); ++k) {
                const int64_t rest = count_[k] - of_yes_[k];
                yes += of_yes_[k] * of_yes_[k];
                no += rest * rest;
            }
            attention_.spent(int64_t(count_.size()));
            const double score = double(yes) / double(below) + double(no) / double(n - below);
            if (best.number < 0 || score > best.score) best = {score, threshold, number, gap_is_yes};
        }
        return best;
    }

    // Rows in order of their class, which the parts of a node keep: then each class is counted in one go.
    void in_order_of_class(const int64_t* drawn) {
        std::fill(count_.begin(), count_.end(), 0);
        for (int64_t i = 0; i < in_.n_drawn; ++i) ++count_[size_t(in_.label[drawn[i]])];
        int64_t place = 0;
        for (int64_t& count : count_) {
            const int64_t own = count;
            count = place, place += own;
        }
        for (int64_t i = 0; i < in_.n_drawn; ++i) rows_[size_t(count_[size_t(in_.label[drawn[i]])]++)] = int32_t(drawn[i]);
    }

    // Least and largest of the values that are no gaps, and the number of gaps. Four chains, which need not wait for each other.
    static void range(const float* values, int64_t n, float& low, float& high, int64_t& gaps) {
        float least[4] = {low, low, low, low}, largest[4] = {high, high, high, high};
        int64_t i = 0;
        for (; i + 4 <= n; i += 4)
            for (int c = 0; c < 4; ++c) {
                least[c] = values[i + c] < least[c] ? values[i + c] : least[c];
                largest[c] = values[i + c] > largest[c] ? values[i + c] : largest[c];
            }
        for (; i < n; ++i) least[0] = values[i] < least[0] ? values[i] : least[0], largest[0] = values[i] > largest[0] ? values[i] : largest[0];
        for (int c = 0; c < 4; ++c) low = least[c] < low ? least[c] : low, high = largest[c] > high ? largest[c] : high;
        int32_t missing = 0;
        for (i = 0; i < n; ++i) missing += values[i] != values[i];
        gaps = missing;
    }

    // How many of the n values of a node are at most `at`, in all and (in `of_yes_`) of each class; a gap never is.
    int64_t count_below(int64_t n, float at) {
        const float* values = values_.data();
        std::fill(of_yes_.begin(), of_yes_.end(), 0);
        int64_t below = 0, i = 0;
        if (n < kFew * int64_t(count_.size())) {
            for (; i < n; ++i) {
                const bool is_yes = values[i] <= at;
                below += is_yes;
                of_yes_[size_t(labels_[size_t(i)])] += is_yes;
            }
            return below;
        }
        for (size_t k = 0; k < count_.size(); ++k) {
            int32_t own = 0;
            for (const int64_t end = i + count_[k]; i < end; ++i) own += values[i] <= at;
            of_yes_[k] = own, below += own;
        }
        return below;
    }

    // The rows of the yes side first; where the others begin.
    int64_t part(int64_t first, int64_t last, const Split& split) {
        const float* column = in_.seen + split.number * in_.n_rows;
        int64_t yes = first, no = 0;
        for (int64_t i = first; i < last; ++i) {
            const int32_t row = rows_[size_t(i)];
            const float value = column[row];
            if (value != value ? split.gap_is_yes : double(value) <= split.threshold)
                rows_[size_t(yes++)] = row;
            else
                aside_[size_t(no++)] = row;
        }
        std::copy(aside_.begin(), aside_.begin() + no, rows_.begin() + yes);
        return yes;
    }

    const Growth& in_;
    std::vector<int32_t> rows_, aside_, labels_;  // the labels: of the rows of the node that is split
    std::vector<float> values_;
    std::vector<int64_t> order_, count_, of_yes_;
    Attention attention_;
};

template <class Scalar>
nb::object as_array(std::vector<Scalar>&& from, std::initializer_list<size_t> shape) {
    auto* kept = new std::vector<Scalar>(std::move(from));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Scalar>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, Scalar>(kept->data(), shape, owner));
}

nb::tuple one_after_the_other(std::vector<Tree>& trees, size_t n_classes) {
    Tree all;
    std::vector<int64_t> root;
    for (Tree& tree : trees) {
        const int64_t nodes = int64_t(all.question.size());
        require(nodes + int64_t(tree.question.size()) < (int64_t(1) << 31), "more nodes than can be numbered: grow fewer trees");
        root.push_back(nodes);
        for (size_t i = 0; i < tree.question.size(); ++i) {
            const int64_t add = tree.question[i] < 0 ? all.leaves : nodes;
            all.yes.push_back(int32_t(tree.yes[i] + add)), all.no.push_back(int32_t(tree.no[i] + add));
        }
        const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
        append(all.question, tree.question), append(all.threshold, tree.threshold);
        append(all.gap_is_yes, tree.gap_is_yes), append(all.share, tree.share);
        all.leaves += tree.leaves;
        tree = Tree{};
    }
    const size_t q = all.question.size(), leaves = size_t(all.leaves), t = root.size();
    return nb::make_tuple(as_array(std::move(root), {t}), as_array(std::move(all.question), {q}), as_array(std::move(all.threshold), {q}),
                          as_array(std::move(all.yes), {q}), as_array(std::move(all.no), {q}), as_array(std::move(all.gap_is_yes), {q}),
                          as_array(std::move(all.share), {leaves, n_classes}));
}

struct Nodes {
    const int32_t* question;
    const int32_t* way[2];  // no, yes
    const double* threshold;
    const bool* gap_is_yes;
    const float* share;  // (leaves, k)
    int64_t count, leaves, k;
};

// Walk `count` rows, at most kWalkers, down one tree, side by side: each step of a row waits for the one before, not for other rows. What
// the leaves say is added to `out`; false if a node leads nowhere or back.
bool walk(const Nodes& nodes, int64_t root, const int64_t* rows, int count, const float* seen, int64_t f, double* out) {
    int64_t at[kWalkers];
    for (int i = 0; i < count; ++i) at[i] = root;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < count; ++i) {
            const int64_t node = at[i], number = nodes.question[node];
            if (number < 0) continue;
            if (number >= f) return false;
            const float value = seen[rows[i] * f + number];
            const bool is_gap = value != value, is_yes = (double(value) <= nodes.threshold[node]) | (is_gap & nodes.gap_is_yes[node]);
            const int64_t next = nodes.way[is_yes][node];
            // Every node comes before those below it, so a walk ends.
            if (next <= node || next >= nodes.count) return false;
            at[i] = next;
            moved = true;
        }
    }
    for (int i = 0; i < count; ++i) {
        const int64_t leaf = nodes.way[1][at[i]];
        if (leaf < 0 || leaf >= nodes.leaves) return false;
        for (int64_t c = 0; c < nodes.k; ++c) out[rows[i] * nodes.k + c] += double(nodes.share[leaf * nodes.k + c]);
    }
    return true;
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def(
        "grow_trees",
        [](const Singles& seen, const Indices& label, const IndexMatrix& drawn, const Indices& seed, int n_classes, int64_t n_tried,
           int64_t least_in_leaf, int n_threads) {
            const int64_t n = int64_t(seen.shape(0)), f = int64_t(seen.shape(1)), t = int64_t(drawn.shape(0));
            require(f >= 1, "seen holds no number");
            require(int64_t(label.shape(0)) == n, "label does not fit seen");
            require(int64_t(seed.shape(0)) == t, "seed does not fit drawn");
            require(n_classes >= 1 && n_tried >= 1 && least_in_leaf >= 1, "n_classes, n_tried and least_in_leaf must be at least 1");
            require(int64_t(drawn.shape(1)) < (int64_t(1) << 30), "a tree has too many rows");
            require(n < (int64_t(1) << 31), "seen has too many rows");
            require_threads(n_threads);
            for (int64_t i = 0; i < n; ++i) require(label.data()[i] >= 0 && label.data()[i] < n_classes, "label names no class");
            for (size_t i = 0; i < drawn.size(); ++i) require(drawn.data()[i] >= 0 && drawn.data()[i] < n, "drawn names no row");
            std::vector<float> columns(size_t(n * f));
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < f; ++j) columns[size_t(j * n + i)] = seen.data()[i * f + j];
            const Growth in{columns.data(), label.data(), n, f, int64_t(drawn.shape(1)), n_classes, n_tried, least_in_leaf};
            std::vector<Tree> trees(static_cast<size_t>(t));
            without_gil([&] {
                Blocks blocks(t, interrupted);
                blocks.run(n_threads, [&](Blocks& queue) {
                    Grower grower(in);
                    for (int64_t tree; queue.next(tree);)
                        trees[size_t(tree)] = grower.grow(drawn.data() + tree * in.n_drawn, uint64_t(seed.data()[tree]));
                });
            });
            return one_after_the_other(trees, size_t(n_classes));
        },
        "seen"_a, "label"_a, "drawn"_a, "seed"_a, "n_classes"_a, "n_tried"_a, "least_in_leaf"_a, "n_threads"_a);
    m.def(
        "walk_trees",
        [](Output out, const Singles& seen, const Indices& root, const Shorts& question, const Vector& threshold, const Shorts& yes,
           const Shorts& no, const Flags& gap_is_yes, const Singles& share, const FlagMatrix& asked, int n_threads) {
            const int64_t n = int64_t(seen.shape(0)), f = int64_t(seen.shape(1)), t = int64_t(root.shape(0)), q = int64_t(question.shape(0));
            const int64_t leaves = int64_t(share.shape(0)), k = int64_t(share.shape(1));
            require(out.size() == size_t(n * k), "out does not fit seen and share");
            require(int64_t(threshold.shape(0)) == q && int64_t(yes.shape(0)) == q && int64_t(no.shape(0)) == q &&
                        int64_t(gap_is_yes.shape(0)) == q,
                    "the arrays of the nodes do not fit each other");
            const bool all = asked.shape(0) == 0;
            require(all || (int64_t(asked.shape(0)) == n && int64_t(asked.shape(1)) == t), "asked does not fit seen and root");
            for (int64_t i = 0; i < t; ++i) require(root.data()[i] >= 0 && root.data()[i] < q, "root names no node");
            const Nodes nodes{question.data(), {no.data(), yes.data()}, threshold.data(), gap_is_yes.data(), share.data(), q, leaves, k};
            std::atomic<bool> lost{false};
            over_objects(n, objects_per_block(40.0 * double(t)), n_threads, [&] {
                return [&](int64_t first, int64_t last) {
                    std::fill(out.data() + first * k, out.data() + last * k, 0.0);
                    int64_t waiting[kWalkers];
                    for (int64_t tree = 0; tree < t; ++tree) {
                        int count = 0;
                        for (int64_t i = first; i < last; ++i) {
                            if (all || asked.data()[i * t + tree]) waiting[count++] = i;
                            if (count < kWalkers && i + 1 < last) continue;
                            if (!walk(nodes, root.data()[tree], waiting, count, seen.data(), f, out.data())) return lost.store(true);
                            count = 0;
                        }
                    }
                };
            });
            require(!lost.load(), "a node leads nowhere or back");
        },
        written("out"), "seen"_a, "root"_a, "question"_a, "threshold"_a, "yes"_a, "no"_a, "gap_is_yes"_a, "share"_a, "asked"_a, "n_threads"_a);
}

}  // namespace badac
