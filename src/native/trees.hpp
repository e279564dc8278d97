// The trees' door to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_trees(nanobind::module_& m);

}  // namespace badac
