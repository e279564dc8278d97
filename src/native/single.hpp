// The door to Python of the kernels in single precision.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_single(nanobind::module_& m);

}  // namespace badac
