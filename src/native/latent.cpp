// The latent kernels over blocks of objects. Shapes are made sure of here; their meaning is in badac/_kernels/latent.py.
#include "latent.hpp"

#include <algorithm>
#include <string>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "door.hpp"
#include "latent_kernel.hpp"

namespace badac {
namespace {

using Places = nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Objects of a stretch of an EM step and their shares: for one thread, and for each of several.
constexpr int64_t kShortStretchBytes = 256 << 10, kStretchBytes = 2 << 20;

constexpr Levels<LatentKernels> kLevels = BADAC_LEVELS(latent_kernels);

LatentArrays arrays(const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift) {
    LatentArrays in{};
    in.n = int64_t(shift.shape(0)), in.k = int64_t(component_shift.shape(0)), in.r = small(shift.shape(1), "too many dimensions");
    require(in.r >= 1 && in.r <= kMaxRank, "the latent kernels work in 1 to 48 dimensions");
    in.p = in.r * (in.r + 1) / 2;
    require(in.k >= 1, "there must be a component");
    require(int64_t(precision.shape(0)) == in.n && int64_t(precision.shape(1)) == in.p, "precision does not fit shift");
    require(int64_t(component_shift.shape(1)) == in.r, "component_shift does not fit shift");
    require(int64_t(component_precision.shape(0)) == in.k && int64_t(component_precision.shape(1)) == in.p,
            "component_precision does not fit component_shift");
    in.precision = precision.data(), in.shift = shift.data();
    in.component_precision = component_precision.data(), in.component_shift = component_shift.data();
    return in;
}

LatentArrays arrays(const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
                    const Vector& log_constant) {
    LatentArrays in = arrays(precision, shift, component_precision, component_shift);
    require(int64_t(log_constant.shape(0)) == in.k, "log_constant does not fit component_shift");
    in.log_constant = log_constant.data();
    return in;
}

// Multiply-adds of an object under one component: its match, or its posterior.
double match_cost(const LatentArrays& in) { return double(in.r) * in.p / 3.0 + in.p + 20.0; }
double posterior_cost(const LatentArrays& in) { return double(in.r) * in.p + 2.0 * in.p + 20.0; }

// Run work(first, last) on blocks of objects.
template <class Work>
void in_blocks(int64_t n, double cost, int n_threads, const Work& work) {
    over_objects(n, objects_per_block(cost), n_threads, [&] { return work; });
}

// As above, with room for so many doubles a thread: work(first, last, scratch).
template <class Work>
void in_blocks(int64_t n, double cost, int n_threads, int64_t doubles, const Work& work) {
    over_objects(n, objects_per_block(cost), n_threads, [&] {
        return [&, scratch = AlignedVector<double>(size_t(doubles))](int64_t first, int64_t last) mutable {
            work(first, last, scratch.data());
        };
    });
}

// Stretch by stretch (see StepArrays): blocks of objects, which wait for the sums of the stretch before, then components, which
// wait for all objects. One thread takes short stretches, which stay in its cache; several take long ones and wait less often.
void em_step(const LatentArrays& in, StepArrays step, const LatentKernels& kernels, int n_threads, double* sums) {
    const int64_t lanes = kernels.lanes, row = in.p + in.r, width = 1 + in.r + 2 * in.p;
    const int64_t per_block = objects_per_block(double(in.k) * match_cost(in) + posterior_cost(in));
    const int64_t all = (in.n + per_block - 1) / per_block;  // blocks
    n_threads = int(std::min<int64_t>(n_threads, all));
    const int64_t fits = (n_threads > 1 ? n_threads * kStretchBytes : kShortStretchBytes) / (8 * (row + in.k) * per_block);
    const int64_t blocks = std::clamp<int64_t>(fits, 1, std::max<int64_t>(1, all)), stretch = blocks * per_block;
    AlignedVector<double> objects(size_t(stretch * row)), shares(size_t(stretch * in.k));
    UnsetVector<double> vectors(size_t(in.k * width * lanes));  // set to zero component by component
    step.objects = objects.data(), step.shares = shares.data(), step.sums = vectors.data();
    const int64_t tasks = blocks + in.k, stretches = (all + blocks - 1) / blocks;
    Blocks queue_of_all(stretches * tasks, interrupted);
    queue_of_all.run(n_threads, [&](Blocks& queue) {
        StepArrays mine = step;
        for (int64_t task; queue.next(task);) {
            const int64_t before = task / tasks * tasks, at = task - before;
            mine.origin = task / tasks * stretch;
            const int64_t end = std::min(in.n, mine.origin + stretch);
            if (at < blocks) {
                queue.wait_for(before);
                const int64_t first = mine.origin + at * per_block;
                if (first < end) kernels.step_shares(in, mine, first, std::min(end, first + per_block));
            } else {
                queue.wait_for(before + blocks);
                if (mine.origin == 0) std::fill_n(mine.sums + (at - blocks) * width * lanes, width * lanes, 0.0);
                for (int64_t first = mine.origin; first < end; first += per_block) {
                    queue.check();
                    kernels.step_sums(in, mine, at - blocks, first, std::min(end, first + per_block));
                }
            }
            queue.finished();
        }
    });
    if (stretches == 0) return;  // no objects: nothing was added up
    Poll poll(interrupted);
    for (int64_t e = 0; e < in.k * width; ++e) {
        poll.spent(lanes);
        for (int64_t lane = 0; lane < lanes; ++lane) sums[e] += vectors[size_t(e * lanes + lane)];
    }
}

}  // namespace

void bind_latent(nb::module_& m) {
    m.attr("latent_max_rank") = kMaxRank;
    m.attr("latent_group") = kGroup;
    m.attr("latent_max_responsible") = kMaxResponsible;
    m.def(
        "latent_log_match",
        [](Output out, const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
           const Vector& log_constant, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            require(int64_t(out.size()) == in.n * in.k, "out does not fit");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, double(in.k) * match_cost(in), n_threads, in.k * kernels.lanes,
                      [&](int64_t first, int64_t last, double* scratch) { kernels.log_match(in, first, last, scratch, out.data()); });
        },
        written("out"), "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "n_threads"_a, "level"_a);

    m.def(
        "latent_log_evidence",
        [](Output out, const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
           const Vector& log_constant, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            require(int64_t(out.size()) == in.n, "out does not fit");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, double(in.k) * match_cost(in), n_threads, in.k * kernels.lanes,
                      [&](int64_t first, int64_t last, double* scratch) { kernels.log_evidence(in, first, last, scratch, out.data()); });
        },
        written("out"), "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "n_threads"_a, "level"_a);

    m.def(
        "latent_responsible",
        [](Output out, Places which, Output match, const Matrix& precision, const Matrix& shift, const Matrix& component_precision,
           const Matrix& component_shift, const Vector& log_constant, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            const int64_t count = int64_t(which.shape(1));
            require(count >= 1 && count <= kMaxResponsible && count <= in.k, "1 or 2 components are named, no more than there are");
            require(int64_t(out.size()) == in.n && int64_t(which.shape(0)) == in.n && int64_t(match.size()) == in.n * count,
                    "the outputs do not fit the objects");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, double(in.k) * match_cost(in), n_threads, in.k * kernels.lanes, [&](int64_t first, int64_t last, double* scratch) {
                kernels.responsible(in, int(count), first, last, scratch, out.data(), which.data(), match.data());
            });
        },
        written("out"), written("which"), written("match"), "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a,
        "log_constant"_a, "n_threads"_a, "level"_a);

    m.def(
        "latent_moments",
        [](Output mean, Output covariance, const Matrix& precision, const Matrix& shift, const Matrix& component_precision,
           const Matrix& component_shift, const Vector& log_constant, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            require(int64_t(mean.size()) == in.n * in.r && int64_t(covariance.size()) == in.n * in.p, "the outputs do not fit the objects");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, double(in.k) * match_cost(in) + 2.0 * posterior_cost(in), n_threads, in.k * kernels.lanes,
                      [&](int64_t first, int64_t last, double* scratch) {
                          kernels.moments(in, first, last, scratch, mean.data(), covariance.data());
                      });
        },
        written("mean"), written("covariance"), "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a,
        "n_threads"_a, "level"_a);

    m.def(
        "latent_posterior",
        [](Output covariance, Output mean, Output log_det, const Matrix& precision, const Matrix& shift, const Matrix& component_precision,
           const Matrix& component_shift, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift);
            require(in.k == 1 && int64_t(covariance.size()) == in.n * in.p && int64_t(mean.size()) == in.n * in.r && int64_t(log_det.size()) == in.n,
                    "the outputs do not fit the objects");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, posterior_cost(in), n_threads, [&](int64_t first, int64_t last) {
                kernels.posterior(in, first, last, covariance.data(), mean.data(), log_det.data());
            });
        },
        written("covariance"), written("mean"), written("log_det"), "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "n_threads"_a,
        "level"_a);

    m.def(
        "latent_step",
        [](Output evidence, Output sums, Flags near, const Matrix& precision, const Matrix& shift, const Matrix& component_precision,
           const Matrix& component_shift, const Vector& log_constant, bool refresh, double threshold, int n_threads,
           const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            const int64_t width = 1 + in.r + 2 * in.p;
            require(int64_t(evidence.size()) == in.n && int64_t(sums.size()) == in.k * width, "the outputs do not fit");
            require(int64_t(near.shape(0)) == (in.n + kGroup - 1) / kGroup && int64_t(near.shape(1)) == in.k,
                    "near does not fit groups of objects and components");
            const LatentKernels& kernels = choose(kLevels, level);
            StepArrays step{};
            step.refresh = refresh, step.threshold = threshold, step.near = near.data(), step.evidence = evidence.data();
            require_threads(n_threads);
            without_gil([&] { em_step(in, step, kernels, n_threads, sums.data()); });
        },
        written("evidence"), written("sums"), written("near"), "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a,
        "refresh"_a, "threshold"_a, "n_threads"_a, "level"_a);

    m.def(
        "latent_left_out",
        [](Output evidence, const Matrix& precision, const Matrix& shift, const Matrix& component_precision, const Matrix& component_shift,
           const Vector& log_constant, const Matrix& means, const Vector& count, int n_threads, const std::string& level) {
            const LatentArrays in = arrays(precision, shift, component_precision, component_shift, log_constant);
            require(int64_t(evidence.size()) == in.n && int64_t(means.size()) == in.k * in.r && int64_t(count.size()) == in.k,
                    "evidence, means or count does not fit");
            const LatentKernels& kernels = choose(kLevels, level);
            in_blocks(in.n, double(in.k) * match_cost(in) + 2.0 * in.r * in.r * in.r, n_threads, in.k * kernels.lanes,
                      [&](int64_t first, int64_t last, double* scratch) {
                          kernels.left_out(in, means.data(), count.data(), first, last, scratch, evidence.data());
                      });
        },
        written("evidence"), "precision"_a, "shift"_a, "component_precision"_a, "component_shift"_a, "log_constant"_a, "means"_a, "count"_a,
        "n_threads"_a, "level"_a);

    m.def(
        "weigh_points",
        [](Output weight, Output scaled, Output offset, const Matrix& values, const Matrix& sigma, const Vector& mean, const Vector& psi,
           int n_threads, const std::string& level) {
            const int64_t n = int64_t(values.shape(0)), points = int64_t(values.shape(1));
            require(int64_t(sigma.shape(0)) == n && int64_t(sigma.shape(1)) == points, "sigma does not fit values");
            require(int64_t(mean.size()) == points && int64_t(psi.size()) == points, "mean or psi does not fit values");
            require(int64_t(weight.size()) == n * points && int64_t(scaled.size()) == n * points && int64_t(offset.size()) == n,
                    "the outputs do not fit values");
            const LatentKernels& kernels = choose(kLevels, level);
            const PointArrays in{points,    values.data(), sigma.data(), mean.data(), psi.data(), weight.data(), scaled.data(),
                                 offset.data()};
            in_blocks(n, 20.0 * double(points), n_threads, [&](int64_t first, int64_t last) { kernels.weigh(in, first, last); });
        },
        written("weight"), written("scaled"), written("offset"), "values"_a, "sigma"_a, "mean"_a, "psi"_a, "n_threads"_a, "level"_a);
}

}  // namespace badac
