// The door to Python of the kernel for points of an object's own.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_points(nanobind::module_& m);

}  // namespace badac
