// The latent kernels' door to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace badac {

void bind_latent(nanobind::module_& m);

}  // namespace badac
