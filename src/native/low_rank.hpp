// The door to Python of the kernels for points of an object's own under a Gaussian of low rank plus diagonal.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_low_rank(nanobind::module_& m);

}  // namespace badac
