// Sums over objects that do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>

#include "aligned.hpp"
#include "door.hpp"
#include "threads.hpp"

namespace badac {

// Objects of one stretch, whose sums are added up before those of the stretches are: so many, and more where the sums would take more
// than this much memory. By the problem, not by the threads: no sum depends on them.
constexpr int64_t kStretch = 512, kMostStretches = 16, kStretchSumBytes = 64 << 20;

// Add up what `add(first, last, scratch, sums)` finds of stretches of n objects, `size` numbers, with room for so many doubles.
template <class Add>
void add_up(int64_t n, int64_t doubles, int64_t size, int n_threads, double* sums, const Add& add) {
    const int64_t most = std::clamp<int64_t>(kStretchSumBytes / (8 * size), 1, kMostStretches);
    const int64_t stretches = std::clamp<int64_t>((n + kStretch - 1) / kStretch, 1, most);
    AlignedVector<double> parts(size_t(stretches * size));
    Blocks blocks(stretches, interrupted);
    blocks.run(n_threads, [&](Blocks& queue) {
        AlignedVector<double> scratch(static_cast<size_t>(doubles));
        for (int64_t part; queue.next(part);)
            add(n * part / stretches, n * (part + 1) / stretches, scratch.data(), parts.data() + part * size);
    });
    for (int64_t part = 0; part < stretches; ++part)
        for (int64_t e = 0; e < size; ++e) sums[e] += parts[size_t(part * size + e)];
}

}  // namespace badac
