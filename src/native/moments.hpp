// The door to Python of the kernel of moments.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_moments(nanobind::module_& m);

}  // namespace badac
