// Vectors of numbers that begin on a cache line: a load that straddles two lines costs twice.
#pragma once
#include <cstddef>
#include <new>
#include <utility>
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

// The same, of numbers that nobody has set yet: for what is too much to be set in one go without a look for Ctrl-C.
template <class T>
struct LeftAsItIs : CacheAligned<T> {
    template <class U>
    struct rebind {
        using other = LeftAsItIs<U>;
    };
    template <class U>
    void construct(U* p) { ::new (static_cast<void*>(p)) U; }
    template <class U, class First, class... Rest>
    void construct(U* p, First&& first, Rest&&... rest) { ::new (static_cast<void*>(p)) U(std::forward<First>(first), std::forward<Rest>(rest)...); }
};

template <class T>
using UnsetVector = std::vector<T, LeftAsItIs<T>>;

}  // namespace badac
