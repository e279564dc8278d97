#include "dispatch.hpp"

#include <stdexcept>

namespace badac {

std::vector<const PairKernels*> available_pair_kernels() {
    std::vector<const PairKernels*> out;
#ifdef BADAC_WITH_X86_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        out.push_back(pair_kernels_avx512());
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) out.push_back(pair_kernels_avx2());
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
