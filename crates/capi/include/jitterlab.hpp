// libjitterlab for C++17: see jitterlab.h for what each call does.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef JITTERLAB_HPP
#define JITTERLAB_HPP

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "jitterlab.h"

namespace jitterlab {

// Why a call failed, and what to do.
struct error : std::runtime_error {
    error() : std::runtime_error(jitterlab_error()) {}
};

// Tasks and the file their activations are recorded in; an empty name is no file.
class run {
public:
    explicit run(const std::string &tasks, const std::string &file = {})
        : handle_(jitterlab_run_new(file.empty() ? nullptr : file.c_str(), tasks.c_str())) {
        if (!handle_) throw error();
    }

    // Makes the file; without this the destructor does, which cannot tell that it failed.
    void close() {
        if (handle_ && jitterlab_run_close(handle_.release()) != 0) throw error();
    }

    void stop() const { jitterlab_run_stop(handle_.get()); }

    // What was asked for and refused, each with its remedy.
    std::vector<std::string> refusals() const {
        std::vector<std::string> all;
        while (const char *one = jitterlab_run_refusal(handle_.get(), all.size())) all.emplace_back(one);
        return all;
    }

    jitterlab_figures figures(const std::string &task) const {
        jitterlab_figures found{};
        if (jitterlab_run_figures(handle_.get(), task.c_str(), &found) != 0) throw error();
        return found;
    }

    const jitterlab_run *get() const { return handle_.get(); }

private:
    struct closes {
        void operator()(jitterlab_run *of) const { jitterlab_run_close(of); }
    };
    std::unique_ptr<jitterlab_run, closes> handle_;
};

// An activation that runs.
struct activation : jitterlab_activation {
    // How late it began; negative where it began early.
    std::chrono::nanoseconds latency() const { return std::chrono::nanoseconds(start_ns - due_ns); }
};

namespace detail {
inline std::string task(std::chrono::nanoseconds period, const std::string &options) {
    return "name=main,period=" + std::to_string(period.count()) + "ns" + (options.empty() ? "" : "," + options);
}
} // namespace detail

// A periodic loop of the calling thread: for (auto &activation : jitterlab::loop(1ms)) { ... }
class loop {
public:
    // A run of this one task, recorded if a file is named, with options such as "policy=fifo:80,cpu=1,wake=timerfd".
    explicit loop(std::chrono::nanoseconds period, const std::string &file = {}, const std::string &options = {})
        : own_(std::make_unique<run>(detail::task(period, options), file)), handle_(jitterlab_loop_new(own_->get(), "main")) {
        if (!handle_) throw error();
    }

    // A task of a run of several.
    loop(const run &of, const std::string &task) : handle_(jitterlab_loop_new(of.get(), task.c_str())) {
        if (!handle_) throw error();
    }

    // Waits for the next activation; what ran before ends. False once the loop is over.
    bool wait() { return jitterlab_loop_wait(handle_.get(), &now_); }

    const activation &now() const { return now_; }

    // The run of a loop that has its own.
    const run &own() const { return *own_; }

    struct end_of_loop {};

    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = activation;
        using difference_type = std::ptrdiff_t;
        using pointer = const activation *;
        using reference = const activation &;

        explicit iterator(loop &of) : of_(&of), goes_on_(of.wait()) {}
        reference operator*() const { return of_->now_; }
        pointer operator->() const { return &of_->now_; }
        iterator &operator++() {
            goes_on_ = of_->wait();
            return *this;
        }
        bool operator!=(end_of_loop) const { return goes_on_; }

    private:
        loop *of_;
        bool goes_on_;
    };

    iterator begin() { return iterator(*this); }
    end_of_loop end() const { return {}; }

private:
    struct frees {
        void operator()(jitterlab_loop *of) const { jitterlab_loop_free(of); }
    };
    // The loop is freed before the run is closed.
    std::unique_ptr<run> own_;
    std::unique_ptr<jitterlab_loop, frees> handle_;
    activation now_{};
};

// What watches a loop that exists already, on the thread that runs it.
class probe {
public:
    // A run of this one task, recorded if a file is named; "overrun=catch-up" is the option of a loop that runs late activations
    // back to back and does not give its due times.
    explicit probe(std::chrono::nanoseconds period, const std::string &file = {}, const std::string &options = {})
        : own_(std::make_unique<run>(detail::task(period, options), file)), handle_(jitterlab_probe_new(own_->get(), "main")) {
        if (!handle_) throw error();
    }

    // A task of a run of several.
    probe(const run &of, const std::string &task) : handle_(jitterlab_probe_new(of.get(), task.c_str())) {
        if (!handle_) throw error();
    }

    void begin() { jitterlab_probe_begin(handle_.get()); }

    // For a loop that knows when it was due: what it slept until.
    void begin(std::chrono::steady_clock::time_point due) {
        const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(due.time_since_epoch());
        jitterlab_probe_begin_at(handle_.get(), since.count());
    }

    void end() { jitterlab_probe_end(handle_.get()); }

    // The run of a probe that has its own.
    const run &own() const { return *own_; }

private:
    struct frees {
        void operator()(jitterlab_probe *of) const { jitterlab_probe_free(of); }
    };
    // The probe is freed before the run is closed.
    std::unique_ptr<run> own_;
    std::unique_ptr<jitterlab_probe, frees> handle_;
};

} // namespace jitterlab

#endif
