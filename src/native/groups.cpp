// Groups of places by k-means, and where it begins. Twin: badac/_kernels/groups.py.
#include "groups.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "groups_kernel.hpp"

namespace badac {
namespace {

constexpr Levels<GroupKernels> kLevels = BADAC_LEVELS(group_kernels);
constexpr int64_t kWhole = 8, kPerBlock = 1024;  // lanes of the widest level; places in a block

// Centres as the kernels take them.
struct Centres {
    int64_t k, padded;
    int r;
    AlignedVector<double> turned;

    Centres(const double* rows, int64_t count, int dimensions)
        : k(count), padded((count + kWhole - 1) / kWhole * kWhole), r(dimensions),
          turned(size_t(padded * dimensions), std::numeric_limits<double>::infinity()) {
        for (int64_t c = 0; c < k; ++c)
            for (int a = 0; a < r; ++a) turned[size_t(a * padded + c)] = rows[c * r + a];
    }
    CentreArrays arrays() const { return {padded, r, turned.data()}; }
};

// Number of the nearest centre of each of n places, on threads.
void label_all(const GroupKernels& kernels, const double* places, int64_t n, const Centres& centres, int n_threads, int64_t* label) {
    const CentreArrays in = centres.arrays();
    Blocks blocks((n + kPerBlock - 1) / kPerBlock, interrupted);
    blocks.run(n_threads, [&](Blocks& queue) {
        for (int64_t block; queue.next(block);)
            kernels.nearest(in, places, block * kPerBlock, std::min(n, (block + 1) * kPerBlock), label);
    });
}

}  // namespace

void bind_groups(nb::module_& m) {
    m.def(
        "k_means",
        [](Output moved, Output count, Output scatter, const Matrix& places, const Matrix& few, const Matrix& centres, int steps,
           int n_threads, const std::string& level) {
            const int64_t n = int64_t(places.shape(0)), some = int64_t(few.shape(0)), k = int64_t(centres.shape(0));
            const int r = small(places.shape(1), "too many dimensions");
            const int64_t p = int64_t(r) * (r + 1) / 2;
            require(int64_t(few.shape(1)) == r && int64_t(centres.shape(1)) == r && k >= 1, "few or centres do not fit places");
            require(int64_t(moved.size()) == k * r && int64_t(count.size()) == k && int64_t(scatter.size()) == k * p,
                    "the outputs do not fit the centres");
            require(steps >= 0 && steps <= 1000, "there are 0 to 1000 steps");
            const GroupKernels& kernels = choose(kLevels, level);
            require_threads(n_threads);
            without_gil([&] {
                std::vector<int64_t> label(size_t(std::max(n, some)));
                std::vector<double> sum(size_t(k * r));
                double *centre = moved.data(), *members = count.data();
                Poll poll(interrupted);
                std::copy_n(centres.data(), k * r, centre);
                for (int step = 0; step < steps; ++step) {
                    label_all(kernels, few.data(), some, Centres(centre, k, r), n_threads, label.data());
                    std::fill(sum.begin(), sum.end(), 0.0), std::fill_n(members, k, 0.0);
                    for (int64_t i = 0; i < some; ++i) {
                        poll.spent(r + 8);
                        const int64_t group = label[size_t(i)];
                        members[group] += 1.0;
                        for (int a = 0; a < r; ++a) sum[size_t(group * r + a)] += few.data()[i * r + a];
                    }
                    // A group without members keeps its centre.
                    for (int64_t c = 0; c < k; ++c)
                        for (int a = 0; a < r && members[c] > 0.0; ++a) centre[c * r + a] = sum[size_t(c * r + a)] / members[c];
                }
                label_all(kernels, places.data(), n, Centres(centre, k, r), n_threads, label.data());
                std::fill_n(members, k, 0.0), std::fill_n(scatter.data(), k * p, 0.0);
                std::vector<double> away(static_cast<size_t>(r));
                for (int64_t i = 0; i < n; ++i) {
                    poll.spent(p + 8);
                    const int64_t group = label[size_t(i)];
                    members[group] += 1.0;
                    for (int a = 0; a < r; ++a) away[size_t(a)] = places.data()[i * r + a] - centre[group * r + a];
                    double* entry = scatter.data() + group * p;
                    for (int a = 0; a < r; ++a)
                        for (int c = a; c < r; ++c) *entry++ += away[size_t(a)] * away[size_t(c)];
                }
            });
        },
        written("moved"), written("count"), written("scatter"), "places"_a, "few"_a, "centres"_a, "steps"_a, "n_threads"_a, "level"_a);

    m.def(
        "spread_out",
        [](const nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& out, const Matrix& places, int64_t first,
           const Vector& drawn, int n_threads, const std::string& level) {
            const int64_t n = int64_t(places.shape(0)), count = int64_t(drawn.size()) + 1;
            const int r = small(places.shape(1), "too many dimensions");
            require(int64_t(out.size()) == count, "out does not fit what was drawn");
            require(first >= 0 && first < n, "the first place is none of these");
            const GroupKernels& kernels = choose(kLevels, level);
            require_threads(n_threads);
            without_gil([&] {
                AlignedVector<double> turned(size_t(n * r)), distance(size_t(n), std::numeric_limits<double>::infinity()),
                    likely(static_cast<size_t>(n));
                for (int64_t i = 0; i < n; ++i)
                    for (int a = 0; a < r; ++a) turned[size_t(a * n + i)] = places.data()[i * r + a];
                out.data()[0] = first;
                // Draw by draw: blocks of places, which wait for the draw before, then the next draw, which waits for all places.
                const int64_t blocks = (n + kPerBlock - 1) / kPerBlock, tasks = blocks + 1;
                Blocks queue_of_all((count - 1) * tasks, interrupted);
                queue_of_all.run(int(std::min<int64_t>(n_threads, blocks)), [&](Blocks& queue) {
                    for (int64_t task; queue.next(task);) {
                        const int64_t draw = task / tasks, before = draw * tasks, at = task - before;
                        if (at < blocks) {
                            queue.wait_for(before);
                            kernels.closer(turned.data(), places.data() + out.data()[draw] * r, n, r, at * kPerBlock,
                                           std::min(n, (at + 1) * kPerBlock), distance.data());
                        } else {
                            queue.wait_for(before + blocks);
                            double total = 0.0;
                            for (int64_t i = 0; i < n; ++i) likely[size_t(i)] = total += distance[size_t(i)];
                            const auto found = std::lower_bound(likely.begin(), likely.end(), drawn.data()[draw] * total);
                            // Where all places are one there is no sum, and any of them is drawn.
                            out.data()[draw + 1] = std::min<int64_t>(found - likely.begin(), n - 1);
                        }
                        queue.finished();
                    }
                });
            });
        },
        written("out"), "places"_a, "first"_a, "drawn"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
