// The door to Python of the kernels of rows.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_rows(nanobind::module_& m);

}  // namespace badac
