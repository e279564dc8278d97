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

// The tables of one family of kernels, a function for each level that was built.
template <class Kernels>
struct Levels {
    const Kernels* (*baseline)();
    const Kernels* (*avx2)();
    const Kernels* (*avx512)();
};
#if defined(BADAC_WITH_AVX512)
#define BADAC_LEVELS(family) {family##_baseline, family##_avx2, family##_avx512}
#elif defined(BADAC_WITH_X86_LEVELS)
#define BADAC_LEVELS(family) {family##_baseline, family##_avx2, nullptr}
#else
#define BADAC_LEVELS(family) {family##_baseline, nullptr, nullptr}
#endif

// As `choose_pair_kernels`, for any family.
template <class Kernels>
const Kernels& choose(const Levels<Kernels>& levels, const std::string& name) {
    const std::string level = choose_pair_kernels(name).name;
    return *(level == "avx512" ? levels.avx512() : level == "avx2" ? levels.avx2() : levels.baseline());
}

}  // namespace badac
