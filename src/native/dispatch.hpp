// Which instruction sets this build contains and this CPU can run.
#pragma once
#include <string>
#include <vector>

#include "pair_kernel.hpp"

namespace badac {

// Best first; never empty.
std::vector<const PairKernels*> available_pair_kernels();

// The named level ("baseline", "avx2", "avx512"), or the best one if the name is empty; throws std::invalid_argument.
const PairKernels& choose_pair_kernels(const std::string& name);

}  // namespace badac
