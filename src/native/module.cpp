// The compiled core of badac: arrays in, arrays out. Each kernel has a NumPy twin in badac/_kernels/reference.py.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_core, m) {
    m.attr("abi") = 1;
}
