// How long loops hear Ctrl-C: they count their work and look up every millisecond or so.
//
// Shared by sources compiled for different CPUs (see simd.hpp): what is inline here is in the namespace of each of them.
#pragma once
#include <cstdint>

namespace badac {

// Look for Ctrl-C, if this thread is at work on blocks (threads.hpp); throws `Interrupted`.
void heed();

#ifdef BADAC_LEVEL
namespace BADAC_LEVEL {
#endif

class Attention {
  public:
    // So many multiply-adds, or what costs as much, have been done since the last call.
    void spent(int64_t multiply_adds) {
        if ((left_ -= multiply_adds) > 0) return;
        left_ = kEvery;
        heed();
    }

  private:
    static constexpr int64_t kEvery = int64_t(1) << 20;
    int64_t left_ = kEvery;
};

#ifdef BADAC_LEVEL
}  // namespace BADAC_LEVEL
#endif

}  // namespace badac
