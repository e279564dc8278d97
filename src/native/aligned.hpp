// Vectors of numbers that begin on a cache line: a load that straddles two lines costs twice.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace badac {

template <class T>
struct CacheAligned {
    using value_type = T;
    static constexpr std::align_val_t line{64};
    CacheAligned() = default;
    template <class U>
    CacheAligned(const CacheAligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
    template <class U>
    bool operator==(const CacheAligned<U>&) const { return true; }
    template <class U>
    bool operator!=(const CacheAligned<U>&) const { return false; }
};

template <class T>
using AlignedVector = std::vector<T, CacheAligned<T>>;

}  // namespace badac
