// SPDX-License-Identifier: MIT OR Apache-2.0
// A timer and a processor made of nothing but numbers: time passes when the test says so.
#pragma once

#include <stdint.h>
#include <stdlib.h>

namespace mcu {

/// The one simulated machine of a test.
struct Mock {
    static uint64_t now;           // counts since the beginning
    static unsigned locks;         // nested locks
    static unsigned read_cost;     // counts that may pass at each reading of the counter
    static uint32_t noise;         // state of the generator that decides how many do
    static void (*deliver)();      // serves what is pending
    static uint64_t served;        // matches served

    static uint32_t random() {
        noise ^= noise << 13;
        noise ^= noise >> 17;
        noise ^= noise << 5;
        return noise;
    }
};

struct CPU {
    class Lock {
    public:
        Lock() { ++Mock::locks; }
        ~Lock() {
            if (--Mock::locks == 0) Mock::deliver();
        }
        Lock(const Lock&) = delete;
    };

    static void enable_interrupts() {}
    static void wait_for(const volatile bool*) { abort(); }

    template <void (*FUNCTION)()>
    static void call_from_interrupt() {
        FUNCTION();
    }
};

/// A counter of BITS bits with a compare unit, as AVR_Timer1 is one of 16. With a DELAY, a compare value takes that many counts to
/// reach it, as with AVR_Timer2_Crystal.
template <unsigned BITS, class CountType, unsigned DELAY = 0>
struct Mock_Timer {
    typedef CountType Count;
    static constexpr unsigned RESOLUTION = BITS;
    static constexpr uint64_t RANGE = uint64_t(1) << BITS;
    static constexpr uint8_t LEAD = DELAY == 0 ? 0 : DELAY + 1;

    static void run_free() { _top = RANGE - 1; }
    static void run_periodic(Count top) {
        _top = top;
        _compare = top;
        _zero = Mock::now;
    }

    static Count count() {
        if (Mock::read_cost != 0) pass(Mock::random() % (Mock::read_cost + 1));
        return value();
    }
    static Count compare() { return _compare; }
    static void compare(Count value) {
        if (_arrives != 0) abort(); // what was on its way would be lost
        (DELAY == 0 ? _compare : _written) = value;
        _arrives = DELAY == 0 ? 0 : Mock::now + DELAY;
    }

    /// Until the compare register can be written.
    static void wait() {
        while (_arrives != 0) pass(1);
    }
    static void enable_match() { _enabled = true; }
    static void disable_match() { _enabled = false; }
    static bool matched() { return _matched; }
    static void clear_match() { _matched = false; }
    static void enable_overflow() { _overflow_enabled = true; }
    static bool overflowed() { return _overflowed; }

    /// Time passes; flags are set, nothing is served. Returns the number of matches.
    static uint64_t pass(uint64_t counts) {
        if (_arrives != 0 && _arrives <= Mock::now + counts) {
            const uint64_t until = _arrives - Mock::now;
            _arrives = 0;
            const uint64_t earlier = pass(until);
            _compare = _written;
            return earlier + pass(counts - until);
        }
        const uint64_t matches = counts < to_match() ? 0 : 1 + (counts - to_match()) / (_top + 1);
        if (matches > 0) _matched = true;
        if (counts >= to_overflow()) _overflowed = true;
        Mock::now += counts;
        return matches;
    }

    /// Counts until a flag is set.
    static uint64_t quiet() {
        const uint64_t flag = to_match() < to_overflow() ? to_match() : to_overflow();
        return _arrives != 0 && _arrives - Mock::now < flag ? _arrives - Mock::now : flag;
    }

    /// Serves what is pending, as the hardware does when interrupts are let in.
    template <class Time>
    static void deliver() {
        while (Mock::locks == 0 && ((_enabled && _matched) || (_overflow_enabled && _overflowed))) {
            ++Mock::locks; // the hardware turns interrupts off
            if (_enabled && _matched) {
                _matched = false;
                ++Mock::served;
                Time::Alarm::interrupt();
            } else {
                _overflowed = false;
                Time::TSC::overflow();
            }
            --Mock::locks;
        }
    }

    static void reset(uint64_t now) {
        Mock::now = now;
        Mock::locks = 0;
        Mock::served = 0;
        _zero = 0;
        _top = RANGE - 1;
        _compare = 0;
        _arrives = 0;
        _enabled = _matched = _overflow_enabled = _overflowed = false;
    }

private:
    static Count value() { return Count((Mock::now - _zero) % (_top + 1)); }
    static uint64_t to_match() { return (_compare + _top + 1 - value()) % (_top + 1) + 1; }
    static uint64_t to_overflow() { return RANGE - value(); }

    static uint64_t _zero, _top, _arrives;
    static Count _compare, _written;
    static bool _enabled, _matched, _overflow_enabled, _overflowed;
};

template <unsigned B, class C, unsigned D> uint64_t Mock_Timer<B, C, D>::_zero;
template <unsigned B, class C, unsigned D> uint64_t Mock_Timer<B, C, D>::_top;
template <unsigned B, class C, unsigned D> uint64_t Mock_Timer<B, C, D>::_arrives;
template <unsigned B, class C, unsigned D> C Mock_Timer<B, C, D>::_compare;
template <unsigned B, class C, unsigned D> C Mock_Timer<B, C, D>::_written;
template <unsigned B, class C, unsigned D> bool Mock_Timer<B, C, D>::_enabled;
template <unsigned B, class C, unsigned D> bool Mock_Timer<B, C, D>::_matched;
template <unsigned B, class C, unsigned D> bool Mock_Timer<B, C, D>::_overflow_enabled;
template <unsigned B, class C, unsigned D> bool Mock_Timer<B, C, D>::_overflowed;

uint64_t Mock::now;
uint64_t Mock::served;
unsigned Mock::locks;
unsigned Mock::read_cost;
uint32_t Mock::noise = 1;
void (*Mock::deliver)();

} // namespace mcu
