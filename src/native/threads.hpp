// Blocks of work on several threads, with one rule: what a block computes never depends on which thread took it.
//
// The calling thread works too, and is the only one that polls (for Ctrl-C); the others look at a flag. Threads live as long as
// the call, so a process that forks between calls is safe.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace badac {

struct Interrupted {};

class Blocks {
  public:
    // `poll` is called on the calling thread every 100 ms or so; true means stop.
    Blocks(int64_t n_blocks, std::function<bool()> poll)
        : n_blocks_(n_blocks), poll_(std::move(poll)), caller_(std::this_thread::get_id()), last_(Clock::now()) {}

    // The next block, or false when none is left.
    bool next(int64_t& block) {
        check();
        block = next_.fetch_add(1);
        return block < n_blocks_;
    }

    // To be called every few milliseconds of work; throws `Interrupted` if the work should stop.
    void check() {
        if (stop_.load(std::memory_order_relaxed)) throw Interrupted{};
        if (std::this_thread::get_id() != caller_) return;
        const auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(100)) return;
        last_ = now;
        if (poll_ && poll_()) {
            stop_ = true;
            throw Interrupted{};
        }
    }

    // Run `body(blocks)` on n_threads threads, this one included; the first exception is rethrown here.
    void run(int n_threads, const std::function<void(Blocks&)>& body) {
        if (int64_t(n_threads) > n_blocks_) n_threads = n_blocks_ > 1 ? int(n_blocks_) : 1;
        running_ = n_threads - 1;
        std::vector<std::thread> others;
        for (int t = 1; t < n_threads; ++t)
            others.emplace_back([&] {
                guarded(body);
                std::lock_guard<std::mutex> lock(mutex_);
                --running_;
                done_.notify_all();
            });
        guarded(body);
        {
            std::unique_lock<std::mutex> lock(mutex_);
            while (!done_.wait_for(lock, std::chrono::milliseconds(50), [&] { return running_ == 0; })) {
                lock.unlock();
                try {
                    check();
                } catch (...) {
                    keep(std::current_exception());
                }
                lock.lock();
            }
        }
        for (auto& thread : others) thread.join();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    using Clock = std::chrono::steady_clock;

    void guarded(const std::function<void(Blocks&)>& body) {
        try {
            body(*this);
        } catch (...) {
            keep(std::current_exception());
        }
    }
    void keep(std::exception_ptr failure) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = failure;
        stop_ = true;
    }

    int64_t n_blocks_;
    std::function<bool()> poll_;
    std::thread::id caller_;
    Clock::time_point last_;
    std::atomic<int64_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable done_;
    int running_ = 0;
    std::exception_ptr failure_;
};

}  // namespace badac
