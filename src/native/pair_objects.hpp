// A block of objects, sorted by which points they have and packed for the inner loops.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "heed.hpp"
#include "pair_units.hpp"

namespace badac {

enum class Mode { screen, tiles, rows, careful };

// How far a score in float can be trusted, for one object and its best curve so far (see pair_screening.hpp).
struct Screening {
    double reference, error, allowed_mass;
    double safe_depth;  // so far below the best that even a whole block of curves stays within its share
};

// One object's running sum over the curves: sum exp(score - reference), in double and (the small rest) in float.
struct Evidence {
    int64_t object = 0;
    double constant = 0.0;     // what the scores leave out
    double float_shift = 0.0;  // score in double units = score in float units + this
    double reference = 0.0, sum = 0.0, mass = 0.0;
    double best = -INFINITY;  // of the scores in double, where the best curve is looked for
    int64_t best_curve = 0;
    Screening screening{-INFINITY, 0.0, 0.0, 0.0};
    int shallow = 5;  // how many sixths of log k the cut lies above the safe depth
    double value_error = 0.0, worst_value_error = 0.0;  // sum and largest of (rounding of r_j in float)^2 / v_j
    double log_v_floor = 0.0, float_log_v_floor = 0.0;  // the least sum_j log v_j can be, in either unit; 0 if it is not in the scores
};

struct Pack {
    Mode mode;
    int n_objects, n_points, first;  // `first`: its first object in `PackedObjects::evidence`
    size_t point, data;              // offsets
    size_t groups, float_groups, row_groups;
    int n_groups, n_float_groups, n_row_groups;
    bool complete, can_screen;  // can_screen: float can resolve its residuals, as far as is known
    bool bounded;               // tiles that cannot matter are known beforehand (pair_bounds.hpp)
};

class PackedObjects {
  public:
    // `order`: which objects come one after another; empty: as given.
    PackedObjects(const PairArrays& arrays, const Units& units, const std::vector<int32_t>& order, bool screen)
        : in_(arrays), units_(units), given_(order), screen_(screen) {}

    void pack(int64_t begin, int64_t end);  // replaces what was packed before

    ObjectPack<double> in_double(const Pack&) const;
    ObjectPack<float> in_float(const Pack&) const;
    RowObject as_row(const Pack&, int which) const;

    std::vector<Pack> packs;
    std::vector<Evidence> evidence;

  private:
    struct Limits {
        double product_low, product_high, sum_high;  // log2
    };
    // How far an observed point of a pack can go: log2 of the variances, r^2, and r^2 / v.
    struct Range {
        double low, high, square, ratio;
    };
    void observe(int64_t begin, int64_t end);
    void add_pack(int n_objects, const int64_t* objects);
    bool range_of(int64_t object, const int32_t* point, int n_points, std::vector<Range>& range) const;
    bool group(const std::vector<Range>& range, const double* log2_unit2, const int32_t* point, const Limits& limits);
    bool group_rows(const std::vector<Range>& range, const int32_t* point);
    void float_error(Evidence&, const int32_t* point, int n_points, const std::vector<Range>& range) const;
    void fill(const Pack&, int which, int64_t object);
    double sigma(int64_t object, int64_t j) const { return in_.d_sigma[in_.d_sigma_shared ? j : object * in_.m + j]; }

    const PairArrays& in_;
    const Units& units_;
    const std::vector<int32_t>& given_;
    bool screen_;
    Attention attention_;
    std::vector<uint64_t> observed_;  // bits, (objects, words)
    std::vector<int64_t> order_;
    std::vector<int32_t> point_, group_end_;
    AlignedVector<double> data_, row_value_, row_variance_;
    AlignedVector<float> float_data_;
    AlignedVector<int64_t> row_mask_;
    std::vector<Range> range_, other_range_, steps_;
    size_t last_point_ = 0;  // where the list of points of the current objects begins
};

}  // namespace badac
