// Similar curves side by side: a tile of them can then be given up together, after a few points (see README.md).
#pragma once
#include <cstdint>
#include <vector>

#include "pair_units.hpp"

namespace badac {

// An order of all curves. The first `n_sample` are spread over all of them, so that every object meets a good match early; the
// others are leaves of a tree of median cuts along the principal directions of a sample. Empty if the curves are too few.
std::vector<int32_t> similar_together(const PairArrays& arrays, const Units& units, int64_t n_sample, int64_t leaf, Poll& poll);

}  // namespace badac
