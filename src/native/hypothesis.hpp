// The door of the anomaly hypotheses' kernels to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_hypothesis(nanobind::module_& m);

}  // namespace badac
