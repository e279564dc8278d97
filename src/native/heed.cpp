#include "heed.hpp"

#include "threads.hpp"

namespace badac {

void heed() {
    if (Blocks* at_work = Blocks::current()) at_work->check();
}

}  // namespace badac
