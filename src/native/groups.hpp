// The door to Python of the kernels of groups.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_groups(nanobind::module_& m);

}  // namespace badac
