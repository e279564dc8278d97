// The door to Python of the kernels of draws.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_draws(nanobind::module_& m);

}  // namespace badac
