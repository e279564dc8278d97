// Similar rows side by side: tiles of curves can then be left out, or given up, together (see README.md).
#pragma once
#include <cstdint>
#include <vector>

#include "pair_directions.hpp"

namespace badac {

// An order of all rows, given their values along the directions: leaves of a tree of median cuts.
std::vector<int32_t> similar_together(const std::vector<Along>& rows, int64_t leaf, Poll& poll);

}  // namespace badac
