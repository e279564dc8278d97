// The door to Python of the mixture's M-step.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_improve(nanobind::module_& m);

}  // namespace badac
