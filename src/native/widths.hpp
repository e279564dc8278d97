// The width kernels' door to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_widths(nanobind::module_& m);

}  // namespace badac
