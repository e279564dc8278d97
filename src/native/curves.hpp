// The door of the random curves' kernel to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_curves(nanobind::module_& m);

}  // namespace badac
