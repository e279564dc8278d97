// The mixture kernel's door to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_mixture(nanobind::module_& m);

}  // namespace badac
