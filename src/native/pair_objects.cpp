#include "pair_objects.hpp"

#include <algorithm>
#include <cmath>

namespace badac {
namespace {

constexpr double kLog2Pi = 1.8378770664093454836, kLog2 = 0.69314718055994530942;
constexpr double kFloatUnit = 0x1p-24;  // the relative rounding error of a float
// Room left below 1023 and above -1022 (126 for float): the last product, and what a bound from the bits can be off.
constexpr double kDoubleRoom = 960.0, kFloatRoom = 110.0;

}  // namespace

void PackedObjects::observe(int64_t begin, int64_t end) {
    const size_t words = size_t((in_.m + 63) / 64);
    observed_.assign(size_t(end - begin) * words, 0);
    order_.resize(size_t(end - begin));
    bool all = true;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t object = given_.empty() ? i : given_[size_t(i)];
        order_[size_t(i - begin)] = i - begin;
        for (int64_t j = 0; j < in_.m; ++j) {
            const bool seen = std::isfinite(in_.d[object * in_.m + j]) && std::isfinite(sigma(object, j));
            observed_[size_t(i - begin) * words + size_t(j / 64)] |= uint64_t(seen) << (j % 64);
            all = all && seen;
        }
    }
    if (all) return;
    // Objects with the same points side by side, so that two of them can share the work.
    const uint64_t* bits = observed_.data();
    std::stable_sort(order_.begin(), order_.end(), [=](int64_t a, int64_t b) {
        const uint64_t *x = bits + size_t(a) * words, *z = bits + size_t(b) * words;
        return std::lexicographical_compare(x, x + words, z, z + words);
    });
}

void PackedObjects::pack(int64_t begin, int64_t end) {
    observe(begin, end);
    packs.clear();
    evidence.clear();
    point_.clear();
    group_end_.clear();
    data_.clear();
    float_data_.clear();
    const size_t n = order_.size(), words = size_t((in_.m + 63) / 64), row = size_t(units_.padded);
    row_value_.resize(n * row);
    row_variance_.resize(n * row);
    row_mask_.resize(n * row);
    const auto bits = [&](size_t i) { return observed_.data() + size_t(order_[i]) * words; };
    const auto object = [&](size_t i) { return given_.empty() ? begin + order_[i] : int64_t(given_[size_t(begin + order_[i])]); };
    for (size_t i = 0, taken; i < n; i += taken) {
        if (i == 0 || !std::equal(bits(i), bits(i) + words, bits(i - 1))) {
            last_point_ = point_.size();
            // A quarter of them from all over first, so that a mismatch shows early also in a smooth curve.
            for (int64_t start : {0, 2, 1, 3})
                for (int64_t j = start; j < in_.m; j += 4)
                    if (bits(i)[j / 64] >> (j % 64) & 1) point_.push_back(int32_t(j));
        }
        taken = i + 1 < n && std::equal(bits(i), bits(i) + words, bits(i + 1)) ? 2 : 1;
        const int64_t objects[kMaxPack] = {object(i), object(i + taken - 1)};
        add_pack(int(taken), objects);
    }
}

// Fills `range`; false if the object needs the careful path.
bool PackedObjects::range_of(int64_t object, const int32_t* point, int n_points, std::vector<Range>& range) const {
    range.resize(size_t(n_points));
    bool safe = true;
    for (int p = 0; p < n_points; ++p) {
        const size_t j = size_t(point[p]);
        const double d = in_.d[object * in_.m + point[p]] * units_.down[j], s = sigma(object, point[p]) * units_.down[j];
        const double r = std::max(std::fabs(d - units_.y_low[j]), std::fabs(d - units_.y_high[j]));
        const double v_low = s * s + units_.b_low[j], v_high = s * s + units_.b_high[j];
        Range& out = range[size_t(p)];
        out = {log2_below(v_low), log2_above(v_high), r * r, r * r / v_low};
        safe = safe && out.low >= -kDoubleRoom + 2.0 && out.high <= kDoubleRoom - 2.0 && out.square <= 0x1p900 && out.ratio <= 0x1p900;
    }
    return safe;
}

// Cut the points of a pack into groups within which no product leaves the range of its type. Appends to group_end_.
bool PackedObjects::group(const std::vector<Range>& range, const double* log2_unit2, const int32_t* point, const Limits& limits) {
    const auto unit = [&](size_t p) { return log2_unit2 ? log2_unit2[point[p]] : 0.0; };
    double low = 0.0, high = 1.0, sum = 0.0;
    for (size_t p = 0, first = 0; p < range.size();) {
        low += range[p].low + unit(p);
        high += range[p].high + unit(p);
        sum += range[p].ratio;
        const bool fits = low >= limits.product_low && high <= limits.product_high &&
                          std::max(high, 0.0) + log2_above(sum) <= limits.sum_high &&
                          log2_above(range[p].square) + unit(p) <= limits.sum_high;
        if (fits) {
            ++p;
            continue;
        }
        if (p == first) return false;
        group_end_.push_back(int32_t(p));
        first = p;
        low = 0.0, high = 1.0, sum = 0.0;
    }
    group_end_.push_back(int32_t(range.size()));
    return true;
}

// The same for rows, where a lane takes every so-many-th point: bounds that hold for any subset of a group.
bool PackedObjects::group_rows(const std::vector<Range>& range, const int32_t* point) {
    steps_.assign(size_t(units_.padded / kRowStep), {0.0, 0.0, 0.0, 0.0});
    for (size_t p = 0; p < range.size(); ++p) {
        Range& step = steps_[size_t(point[p] / kRowStep)];
        step.low += std::min(range[p].low, 0.0);
        step.high += std::max(range[p].high, 0.0);
        step.ratio += range[p].ratio;
    }
    double low = 0.0, high = 1.0, sum = 0.0;
    for (size_t i = 0, first = 0; i < steps_.size();) {
        low += steps_[i].low;
        high += steps_[i].high;
        sum += steps_[i].ratio;
        if (low >= -kDoubleRoom && high + log2_above(sum) <= kDoubleRoom && high <= kDoubleRoom) {
            ++i;
            continue;
        }
        if (i == first) return false;
        group_end_.push_back(int32_t(i) * kRowStep);
        first = i;
        low = 0.0, high = 1.0, sum = 0.0;
    }
    group_end_.push_back(int32_t(units_.padded));
    return true;
}

// What bounds the error of a score in float: see `screen` in pair.cpp.
void PackedObjects::float_error(Evidence& e, const int32_t* point, int n_points, const std::vector<Range>& range) const {
    for (int p = 0; p < n_points; ++p) {
        const size_t j = size_t(point[p]);
        const double d = (in_.d[e.object * in_.m + point[p]] * units_.down[j] - units_.centre[j]) * units_.narrow[j];
        const double rounding = kFloatUnit * (std::fabs(d) + units_.reach[j]);
        const double v = std::exp2(range[size_t(p)].low) * units_.narrow[j] * units_.narrow[j];
        e.value_error += rounding * rounding / v;
        e.worst_value_error = std::max(e.worst_value_error, rounding * rounding / v);
        if (!in_.y_sigma_shared) e.float_shift += 0.5 * kLog2 * units_.log2_narrow2[j];
    }
    e.float_log_v_floor = e.log_v_floor + 2.0 * e.float_shift;
}

void PackedObjects::add_pack(int n_objects, const int64_t* objects) {
    Pack pack{};
    pack.n_objects = n_objects;
    pack.first = int(evidence.size());
    pack.point = last_point_;
    pack.n_points = int(point_.size() - last_point_);
    pack.complete = pack.n_points == in_.m;
    const int32_t* point = point_.data() + pack.point;
    attention_.spent(60 * int64_t(pack.n_points));

    // Two objects go together only if both are safe; else each one alone.
    const bool safe = range_of(objects[0], point, pack.n_points, range_);
    if (n_objects == 2) {
        if (range_of(objects[1], point, pack.n_points, other_range_) != safe) {
            add_pack(1, objects);
            add_pack(1, objects + 1);
            return;
        }
        for (size_t p = 0; p < range_.size(); ++p) {
            range_[p].low = std::min(range_[p].low, other_range_[p].low);
            range_[p].high = std::max(range_[p].high, other_range_[p].high);
            range_[p].square = std::max(range_[p].square, other_range_[p].square);
            range_[p].ratio = std::max(range_[p].ratio, other_range_[p].ratio);
        }
    }
    for (int o = 0; o < n_objects; ++o) {
        evidence.emplace_back();
        evidence.back().object = objects[o];
        evidence.back().reference = -INFINITY;
    }
    const auto close = [&](size_t& offset, int& count, bool ok, size_t start) {
        offset = start;
        count = ok ? int(group_end_.size() - start) : 0;
        if (!ok) group_end_.resize(start);
        return ok;
    };
    size_t start = group_end_.size();
    if (!safe || !close(pack.groups, pack.n_groups, group(range_, nullptr, point, {-kDoubleRoom, kDoubleRoom, kDoubleRoom}), start)) {
        pack.mode = Mode::careful;
        packs.push_back(pack);
        return;
    }
    start = group_end_.size();
    const bool rows = close(pack.row_groups, pack.n_row_groups, group_rows(range_, point), start);
    start = group_end_.size();
    const bool floats =
        close(pack.float_groups, pack.n_float_groups,
              group(range_, units_.log2_narrow2.data(), point, {-kFloatRoom, kFloatRoom, kFloatRoom}), start);
    pack.mode = screen_ && rows && floats && pack.n_points > 0 ? Mode::screen : Mode::tiles;
    pack.data = data_.size();
    data_.resize(data_.size() + size_t(2 * n_objects * pack.n_points));
    float_data_.resize(data_.size());
    for (int o = 0; o < n_objects; ++o) fill(pack, o, objects[o]);
    packs.push_back(pack);
}

void PackedObjects::fill(const Pack& pack, int which, int64_t object) {
    const size_t row = size_t(pack.first + which) * size_t(units_.padded);
    const bool shared = in_.y_sigma_shared;
    std::fill_n(row_value_.begin() + std::ptrdiff_t(row), units_.padded, 0.0);
    std::fill_n(row_variance_.begin() + std::ptrdiff_t(row), units_.padded, shared ? 0.0 : 1.0);
    std::fill_n(row_mask_.begin() + std::ptrdiff_t(row), units_.padded, 0);
    Evidence& e = evidence[size_t(pack.first + which)];
    const int32_t* point = point_.data() + pack.point;
    double exponents = 0.0, log_v = 0.0;
    for (int p = 0; p < pack.n_points; ++p) {
        const int32_t j = point[p];
        const double down = units_.down[size_t(j)], narrow = units_.narrow[size_t(j)], s = sigma(object, j) * down;
        const double value = in_.d[object * in_.m + j] * down;
        double variance = s * s, float_variance = variance * narrow * narrow;
        if (shared) {
            variance += units_.b_low[size_t(j)];
            log_v += std::log(variance);
            variance = 1.0 / variance;
            float_variance = variance / (narrow * narrow);
        }
        exponents += units_.exponent[size_t(j)];
        const size_t at = pack.data + size_t(2 * p * pack.n_objects + which);
        data_[at] = value;
        data_[at + size_t(pack.n_objects)] = variance;
        float_data_[at] = float((value - units_.centre[size_t(j)]) * narrow);
        float_data_[at + size_t(pack.n_objects)] = float(float_variance);
        row_value_[row + size_t(j)] = value;
        row_variance_[row + size_t(j)] = variance;
        row_mask_[row + size_t(j)] = -1;
    }
    // Padding has r = 0 and v = 1 without a mask: the curves' padding is 0 too.
    e.constant = -0.5 * (pack.n_points * kLog2Pi + log_v) - kLog2 * exponents;
    if (!shared)  // else the logs are in the constant
        for (const Range& range : range_) e.log_v_floor += kLog2 * range.low;
    if (pack.mode == Mode::screen) float_error(e, point, pack.n_points, range_);
}

ObjectPack<double> PackedObjects::in_double(const Pack& p) const {
    return {p.n_objects, p.n_points, point_.data() + p.point, data_.data() + p.data, p.n_groups, group_end_.data() + p.groups, {}, {}};
}
ObjectPack<float> PackedObjects::in_float(const Pack& p) const {
    return {p.n_objects,
            p.n_points,
            point_.data() + p.point,
            float_data_.data() + p.data,
            p.n_float_groups,
            group_end_.data() + p.float_groups,
            {p.n_points / 4, p.n_points / 2},
            {}};
}
RowObject PackedObjects::as_row(const Pack& p, int which) const {
    const size_t row = size_t(p.first + which) * size_t(units_.padded);
    return {row_value_.data() + row, row_variance_.data() + row, p.complete ? nullptr : row_mask_.data() + row, p.n_row_groups,
            group_end_.data() + p.row_groups};
}

}  // namespace badac
