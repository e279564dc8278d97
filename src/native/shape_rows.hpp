// The door to Python of cosines and bumps at any points.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_shape_rows(nanobind::module_& m);

}  // namespace badac
