#include "pair_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace badac {
namespace {

// Halve [begin, end) at the median of its widest direction until leaves remain.
void cut(int32_t* begin, int32_t* end, const std::vector<float>& along, int64_t leaf, Poll& poll) {
    while (end - begin > leaf) {
        poll.check();
        int widest = 0;
        float width = -1.0f;
        for (int v = 0; v < kDirections; ++v) {
            float low = along[size_t(*begin) * kDirections + size_t(v)], high = low;
            for (const int32_t* c = begin; c < end; ++c) {
                low = std::min(low, along[size_t(*c) * kDirections + size_t(v)]);
                high = std::max(high, along[size_t(*c) * kDirections + size_t(v)]);
            }
            if (high - low > width) widest = v, width = high - low;
        }
        int32_t* middle = begin + ((end - begin) / 2 + leaf - 1) / leaf * leaf;
        if (middle >= end) return;
        // Ties by index, so that the order does not depend on the library's algorithm.
        std::nth_element(begin, middle, end, [&](int32_t a, int32_t b) {
            const float x = along[size_t(a) * kDirections + size_t(widest)], z = along[size_t(b) * kDirections + size_t(widest)];
            return x < z || (x == z && a < b);
        });
        cut(begin, middle, along, leaf, poll);
        begin = middle;
    }
}

}  // namespace

std::vector<int32_t> similar_together(const std::vector<Along>& rows, int64_t leaf, Poll& poll) {
    std::vector<float> along(rows.size() * kDirections);
    for (size_t i = 0; i < rows.size(); ++i)
        for (size_t v = 0; v < kDirections; ++v) {
            const double value = rows[i].value[v];
            along[i * kDirections + v] = std::fabs(value) < 1e30 ? float(value) : 0.0f;  // else, and if NaN, anywhere
        }
    std::vector<int32_t> sorted(rows.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    cut(sorted.data(), sorted.data() + sorted.size(), along, leaf, poll);
    return sorted;
}

}  // namespace badac
