// The door to Python of the factor kernels.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_factor(nanobind::module_& m);

}  // namespace badac
