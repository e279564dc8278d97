// The door to Python of the kernel of spreads.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_spread(nanobind::module_& m);

}  // namespace badac
