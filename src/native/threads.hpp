// Blocks of work on several threads, with one rule: what a block computes never depends on which thread took it.
//
// The calling thread works too, and is the only one that polls (for Ctrl-C); the others look at a flag. Threads live as long as
// the call, so a process that forks between calls is safe. Where the system has no thread left to give (a container's limit on
// processes, no memory for a stack), those that did start do all the work: the calling one at least.
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

// Asks `stop` every 100 ms or so whether to go on. For one thread.
class Poll {
  public:
    explicit Poll(std::function<bool()> stop) : stop_(std::move(stop)), last_(Clock::now()) {}

    // So many multiply-adds have been done since the last call; looks at the clock once a millisecond or so.
    void spent(int64_t multiply_adds) {
        if ((left_ -= multiply_adds) > 0) return;
        left_ = kEvery;
        check();
    }

    // To be called every few milliseconds of work; throws `Interrupted` if the work should stop.
    void check() {
        const auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(100)) return;
        last_ = now;
        if (stop_ && stop_()) throw Interrupted{};
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr int64_t kEvery = int64_t(1) << 20;
    std::function<bool()> stop_;
    Clock::time_point last_;
    int64_t left_ = kEvery;
};

class Blocks {
  public:
    Blocks(int64_t n_blocks, std::function<bool()> stop)
        : n_blocks_(n_blocks), poll_(std::move(stop)), caller_(std::this_thread::get_id()) {}

    // The next block, or false when none is left.
    bool next(int64_t& block) {
        check();
        block = next_.fetch_add(1);
        return block < n_blocks_;
    }

    // As `Poll::check`, on any of the threads.
    void check() {
        if (stop_.load(std::memory_order_relaxed)) throw Interrupted{};
        if (std::this_thread::get_id() == caller_) poll_.check();
    }

    // Blocks are handed out in order, so a block may wait until all of the first `blocks` are finished: somebody is at work on
    // them. Where blocks wait, each says when it has finished.
    void finished() {
        std::lock_guard<std::mutex> lock(mutex_);
        ++finished_;
        changed_.notify_all();
    }
    void wait_for(int64_t blocks) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (finished_ < blocks) {
            changed_.wait_for(lock, kWait);
            lock.unlock();
            check();
            lock.lock();
        }
    }

    // The blocks that this thread is at work on, or null; see heed.hpp.
    static Blocks*& current() {
        static thread_local Blocks* blocks = nullptr;
        return blocks;
    }

    // Run `body(blocks)` on n_threads threads, this one included; the first exception is rethrown here.
    void run(int n_threads, const std::function<void(Blocks&)>& body) {
        const int64_t n_others = (n_threads < n_blocks_ ? n_threads : n_blocks_) - 1;
        std::vector<std::thread> others;
        if (n_others > 0) others.reserve(size_t(n_others));
        while (int64_t(others.size()) < n_others && start(others, body)) {
        }
        guarded(body);
        {
            std::unique_lock<std::mutex> lock(mutex_);
            while (running_ > 0) {
                changed_.wait_for(lock, kWait);
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
    static constexpr std::chrono::milliseconds kWait{50};

    // False if the system gives no thread: std::system_error, or std::bad_alloc.
    bool start(std::vector<std::thread>& others, const std::function<void(Blocks&)>& body) {
        count(+1);
        try {
            others.emplace_back([&] {
                guarded(body);
                count(-1);
            });
            return true;
        } catch (const std::exception&) {
            count(-1);
            return false;
        }
    }
    void count(int change) {
        std::lock_guard<std::mutex> lock(mutex_);
        running_ += change;
        changed_.notify_all();
    }
    void guarded(const std::function<void(Blocks&)>& body) {
        Blocks* const before = current();
        current() = this;
        try {
            body(*this);
        } catch (...) {
            keep(std::current_exception());
        }
        current() = before;
    }
    void keep(std::exception_ptr failure) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = failure;
        stop_ = true;
        changed_.notify_all();
    }

    int64_t n_blocks_;
    Poll poll_;
    std::thread::id caller_;
    std::atomic<int64_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    int running_ = 0;
    int64_t finished_ = 0;
    std::exception_ptr failure_;
};

}  // namespace badac
