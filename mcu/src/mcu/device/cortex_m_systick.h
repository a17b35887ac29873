// SPDX-License-Identifier: MIT OR Apache-2.0
// SysTick, the timer that every Cortex-M core has: for the strategy Periodic.
#pragma once

#include <mcu/cpu.h>
#include <stdint.h>

namespace mcu {

/// A counter of 24 bits with the clock of the processor, that begins again by itself. It cannot be asked for a moment, so the
/// other strategies need a timer of the chip.
template <uint32_t CLOCK, uint32_t PRESCALER>
struct Cortex_SysTick {
    static_assert(PRESCALER == 1, "SysTick counts the processor's clock: PRESCALER has to be 1");

    typedef uint32_t Count;
    static constexpr unsigned RESOLUTION = 24;

    /// The number of its exception.
    static constexpr unsigned IRQ = 15;

    static void run_free() { static_assert(CLOCK == 0, "SysTick has no compare unit: take the strategy Periodic, or a timer of the chip"); }

    /// Counts from 0 to `top` and again: a match every top + 1 counts.
    static void run_periodic(Count top) {
        reload() = top;
        value() = 0;
        control() = ENABLE | OF_PROCESSOR;
    }

    /// Counts since the last match. (SysTick counts down, and matches where it reaches 0.)
    static Count count() {
        const uint32_t left = value();
        return left == 0 ? 0 : reload() + 1 - left;
    }

    static void enable_match() { control() = ENABLE | INTERRUPT | OF_PROCESSOR; }
    static void disable_match() { control() = ENABLE | OF_PROCESSOR; }

    /// Whether a match waits to be served.
    static bool matched() { return (state() & PENDING) != 0; }

    /// It will not be served.
    static void clear_match() { state() = PENDING >> 1; }

    static void enable_overflow() {}
    static bool overflowed() { return false; }

private:
    static constexpr uint32_t ENABLE = 1, INTERRUPT = 2, OF_PROCESSOR = 4, PENDING = 1u << 26;

    static volatile uint32_t& at(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }
    static volatile uint32_t& control() { return at(0xe000e010); }
    static volatile uint32_t& reload() { return at(0xe000e014); }
    static volatile uint32_t& value() { return at(0xe000e018); }
    static volatile uint32_t& state() { return at(0xe000ed04); }
};

} // namespace mcu

/// Binds SysTick's exception, by the name that CMSIS has for its handler, to a program's time services: once, at file scope.
#define MCU_SYSTICK_INTERRUPT(Time)                                               \
    extern "C" void SysTick_Handler();                                            \
    void __attribute__((flatten)) SysTick_Handler() { Time::Alarm::interrupt(); } \
    static_assert(Time::Timer::irq() == 15, "the trait Device is not SysTick")
