// The door to Python: what arrays look like there, and how work leaves the interpreter alone while it runs.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>

#include "aligned.hpp"
#include "threads.hpp"

namespace badac {

namespace nb = nanobind;
using namespace nb::literals;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

// Shapes and types are checked in Python, with messages for people; here they are made sure of, so that no call, however
// wrong, reads or writes what is not its own.
inline void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

// A length that is kept as an int.
inline int small(size_t length, const char* what) {
    require(length < (size_t(1) << 31), what);
    return int(length);
}

// An argument that is written to: an array of another type would be copied, and the result lost with the copy.
inline auto written(const char* name) { return nb::arg(name).noconvert(); }

inline void require_threads(int n_threads) { require(n_threads >= 1, "n_threads must be at least 1"); }

inline bool interrupted() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Run without the GIL; an interrupt leaves Python's own exception set.
template <class Body>
void without_gil(const Body& body) {
    bool stopped = false;
    {
        nb::gil_scoped_release release;
        try {
            body();
        } catch (const Interrupted&) {
            stopped = true;
        }
    }
    if (stopped) throw nb::python_error();
}

// Objects in a block, given the multiply-adds that one takes: a few milliseconds of work, so that Ctrl-C is heard and threads end
// together. Whole groups: of as many objects as the most lanes that a kernel has, or of one if objects do not share vectors.
inline int64_t objects_per_block(double cost, int64_t group = 8) {
    return std::clamp(int64_t(4e6 / std::max(cost, 1.0)) / group, int64_t(1), 256 / group) * group;
}

// Run work(first, last) on blocks of objects. `worker()` makes the work, once a thread: what it holds is that thread's own. `before()` is
// called first, without the GIL too.
template <class Worker, class Before>
void over_objects(int64_t n, int64_t per_block, int n_threads, const Worker& worker, const Before& before) {
    require_threads(n_threads);
    without_gil([&] {
        before();
        Blocks blocks((n + per_block - 1) / per_block, interrupted);
        blocks.run(n_threads, [&](Blocks& queue) {
            auto work = worker();
            for (int64_t block; queue.next(block);) work(block * per_block, std::min(n, (block + 1) * per_block));
        });
    });
}
template <class Worker>
void over_objects(int64_t n, int64_t per_block, int n_threads, const Worker& worker) {
    over_objects(n, per_block, n_threads, worker, [] {});
}

// Run body(object, memory) on one object after the other, each of so many multiply-adds, with room for so many doubles a thread.
template <class Body>
void over_each_object(int64_t n, double cost, int n_threads, int64_t doubles, const Body& body) {
    over_objects(n, objects_per_block(cost, 1), n_threads, [&] {
        return [&, memory = AlignedVector<double>(size_t(doubles))](int64_t first, int64_t last) mutable {
            for (int64_t i = first; i < last; ++i) body(i, memory.data());
        };
    });
}

}  // namespace badac
