// SPDX-License-Identifier: MIT OR Apache-2.0
// A timer like an AVR's, made from CLOCK_MONOTONIC, so that programs for the board run on Linux.
#pragma once

#include <mcu/cpu.h>
#include <time.h>

namespace mcu {

/// A 16-bit counter at CLOCK / PRESCALER Hz with a compare unit. A match is remembered, and the signal comes, when the
/// counter leaves the compare value.
template <uint32_t CLOCK, uint32_t PRESCALER>
class POSIX_Timer {
public:
    typedef uint16_t Count;
    static constexpr unsigned RESOLUTION = 16;

    static void run_free() { start(RANGE - 1); }
    static void run_periodic(Count top) {
        start(top);
        _compare = top;
    }

    /// Whether it counts.
    static bool counts() { return _created; }

    static Count count() { return Count(now() % (_top + 1)); }
    static Count compare() { return _compare; }
    static void compare(Count value) {
        matched(); // what has matched so far has matched
        _compare = value;
        _matches_from = now();
        schedule();
    }

    static void enable_match() {
        _match_enabled = true;
        schedule();
    }
    static void disable_match() { _match_enabled = false; }

    /// Whether a match waits to be served.
    static bool matched() {
        if (next_match() <= now()) {
            _matched = true;
            _matches_from = now();
        }
        return _matched;
    }
    static void clear_match() {
        matched();
        _matched = false;
    }

    static void enable_overflow() {
        _overflow_enabled = true;
        schedule();
    }
    static bool overflowed() { return now() / RANGE > _overflows_served; }

    /// Calls `tick` for matches and `overflow` for overflows from now on.
    static void bind(void (*tick)(), void (*overflow)()) {
        _tick = tick;
        _overflow = overflow;
    }

private:
    static constexpr uint64_t RANGE = 65536;

    /// Counts since the start.
    static uint64_t now() {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        const uint64_t ns = uint64_t(t.tv_sec - _start.tv_sec) * 1000000000u + uint64_t(t.tv_nsec) - uint64_t(_start.tv_nsec);
        return uint64_t(static_cast<unsigned __int128>(ns) * CLOCK / PRESCALER / 1000000000u);
    }

    /// The count at which the counter will have left the compare value next.
    static uint64_t next_match() {
        const uint64_t period = _top + 1;
        return _matches_from + (_compare + period - _matches_from % period) % period + 1;
    }

    static void start(uint64_t top) {
        clock_gettime(CLOCK_MONOTONIC, &_start);
        _top = top;
        _matches_from = _overflows_served = 0;
        _matched = _match_enabled = _overflow_enabled = false;
        struct sigaction action = {};
        action.sa_handler = &on_signal;
        sigaction(CPU::signal_number(), &action, nullptr);
        struct sigevent event = {};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = CPU::signal_number();
        if (!_created) timer_create(CLOCK_MONOTONIC, &event, &_timer);
        _created = true;
    }

    /// Asks the system for a signal when the next flag is set.
    static void schedule() {
        uint64_t at = UINT64_MAX;
        if (_match_enabled) at = _matched ? 0 : next_match();
        if (_overflow_enabled && (_overflows_served + 1) * RANGE < at) at = (_overflows_served + 1) * RANGE;
        if (at == UINT64_MAX) return;
        const uint64_t ns = uint64_t((static_cast<unsigned __int128>(at) * 1000000000u * PRESCALER + CLOCK - 1) / CLOCK) +
                            uint64_t(_start.tv_nsec);
        struct itimerspec when = {};
        when.it_value.tv_sec = _start.tv_sec + time_t(ns / 1000000000u);
        when.it_value.tv_nsec = long(ns % 1000000000u);
        timer_settime(_timer, TIMER_ABSTIME, &when, nullptr);
    }

    static void on_signal(int) {
        for (;;) {
            if (_match_enabled && matched()) {
                _matched = false;
                _tick();
            } else if (_overflow_enabled && overflowed()) {
                ++_overflows_served;
                _overflow();
            } else {
                break;
            }
        }
        schedule();
    }

    static struct timespec _start;
    static timer_t _timer;
    static uint64_t _top, _matches_from, _overflows_served;
    static Count _compare;
    static bool _created, _matched, _match_enabled, _overflow_enabled;
    static void (*_tick)();
    static void (*_overflow)();
};

template <uint32_t C, uint32_t P> struct timespec POSIX_Timer<C, P>::_start;
template <uint32_t C, uint32_t P> timer_t POSIX_Timer<C, P>::_timer;
template <uint32_t C, uint32_t P> uint64_t POSIX_Timer<C, P>::_top;
template <uint32_t C, uint32_t P> uint64_t POSIX_Timer<C, P>::_matches_from;
template <uint32_t C, uint32_t P> uint64_t POSIX_Timer<C, P>::_overflows_served;
template <uint32_t C, uint32_t P> uint16_t POSIX_Timer<C, P>::_compare;
template <uint32_t C, uint32_t P> bool POSIX_Timer<C, P>::_created;
template <uint32_t C, uint32_t P> bool POSIX_Timer<C, P>::_matched;
template <uint32_t C, uint32_t P> bool POSIX_Timer<C, P>::_match_enabled;
template <uint32_t C, uint32_t P> bool POSIX_Timer<C, P>::_overflow_enabled;
template <uint32_t C, uint32_t P> void (*POSIX_Timer<C, P>::_tick)();
template <uint32_t C, uint32_t P> void (*POSIX_Timer<C, P>::_overflow)();

} // namespace mcu

/// Binds the timer's interrupts to a program's time services: once, at file scope.
#define MCU_INTERRUPTS(Time)                                                               \
    namespace {                                                                            \
    struct Interrupts {                                                                    \
        static void tick() { Time::Alarm::interrupt(); }                                   \
        Interrupts() { Time::Timer::Device::bind(&tick, &Time::TSC::overflow); }           \
    } interrupts;                                                                          \
    }                                                                                      \
    static_assert(true, "")
