#include "dispatch.hpp"

#include <stdexcept>

#include "simd.hpp"

namespace badac {

std::vector<const PairKernels*> available_pair_kernels() {
    std::vector<const PairKernels*> out;
#ifdef BADAC_WITH_X86_LEVELS
#ifdef BADAC_WITH_AVX512
    if (baseline::cpu_has_avx512()) out.push_back(pair_kernels_avx512());
#endif
    if (baseline::cpu_has_avx2()) out.push_back(pair_kernels_avx2());
#endif
    out.push_back(pair_kernels_baseline());
    return out;
}

const PairKernels& choose_pair_kernels(const std::string& name) {
    static const std::vector<const PairKernels*> levels = available_pair_kernels();
    if (name.empty()) return *levels.front();
    std::string known;
    for (const PairKernels* level : levels) {
        if (name == level->name) return *level;
        known += (known.empty() ? "" : ", ") + std::string(level->name);
    }
    throw std::invalid_argument("no kernels for instruction set '" + name + "' on this machine; there are: " + known);
}

}  // namespace badac
