// The count kernels' door to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_counts(nanobind::module_& m);

}  // namespace badac
