// The pointwise kernel's door to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_pointwise(nanobind::module_& m);

}  // namespace badac
