// SPDX-License-Identifier: MIT OR Apache-2.0
// The microsecond timer of the RP2040 (Raspberry Pi Pico), with one of its four alarms.
#pragma once

#include <mcu/cpu.h>
#include <stdint.h>

namespace mcu {

/// The lower 32 bits of the timer, which counts microseconds whatever the processor's clock is, once the watchdog's tick is set (data sheet,
/// 4.6 and 4.7.2; start-up code does that). Nobody else may use this ALARM; the timer itself can be shared.
template <uint32_t CLOCK, uint32_t PRESCALER, unsigned ALARM = 0>
struct RP2040_Timer {
    static_assert(uint64_t(PRESCALER) * 1000000u == CLOCK, "this timer counts microseconds: PRESCALER has to be CLOCK / 1000000");
    static_assert(ALARM < 4, "there are alarms 0 to 3");

    typedef uint32_t Count;
    static constexpr unsigned RESOLUTION = 32;

    /// The number of its interrupt.
    static constexpr unsigned IRQ = ALARM;

    /// It counts already.
    static void run_free() { at(0xe000e100) = MASK; }

    static void run_periodic(Count) {
        static_assert(CLOCK == 0, "this timer does not begin again by itself: for the strategy Periodic take Cortex_SysTick");
    }

    static Count count() { return at(TIMER + 0x28); }

    /// The value that matches. (The alarm comes where the counter gets equal, and a match where it has left the value.)
    static Count compare() { return at(TIMER + 0x10 + 4 * ALARM) - 1; }

    /// Asks for a match when the counter leaves `value`.
    static void compare(Count value) { at(TIMER + 0x10 + 4 * ALARM) = value + 1; }

    static void enable_match() { at(TIMER + SET + 0x38) = MASK; }
    static void disable_match() { at(TIMER + CLEAR + 0x38) = MASK; }

    /// Whether a match waits to be served.
    static bool matched() { return (at(TIMER + 0x34) & MASK) != 0; }

    /// It will not be served. (Its interrupt may come all the same, and finds nothing.)
    static void clear_match() { at(TIMER + 0x34) = MASK; }

    static void enable_overflow() {}
    static bool overflowed() { return false; }

private:
    static constexpr uintptr_t TIMER = 0x40054000, SET = 0x2000, CLEAR = 0x3000;
    static constexpr uint32_t MASK = 1u << ALARM;

    static volatile uint32_t& at(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }
};

/// A clock that the timer keeps, from when it was set on (data sheet, 4.6: all 64 bits are read).
struct RP2040_RTC {
    static uint32_t seconds() { return uint32_t(microseconds() / 1000000) + offset(); }
    static void set(uint32_t time) { offset() = time - uint32_t(microseconds() / 1000000); }

private:
    static uint64_t microseconds() {
        const CPU::Lock lock;
        const uint32_t low = *reinterpret_cast<volatile uint32_t*>(0x4005400c); // keeps the upper half until that is read
        return uint64_t(*reinterpret_cast<volatile uint32_t*>(0x40054008)) << 32 | low;
    }

    static uint32_t& offset() {
        static uint32_t seconds;
        return seconds;
    }
};

} // namespace mcu

/// Binds the interrupt of the timer's alarm, by the name that CMSIS has for its handler, to a program's time services: once, at file scope.
///
///     MCU_INTERRUPTS_OF(Time, TIMER_IRQ_1_Handler, 1);
#define MCU_INTERRUPTS_OF(Time, HANDLER, ALARM)                                                       \
    extern "C" void HANDLER();                                                                        \
    void __attribute__((flatten)) HANDLER() {                                                         \
        if (!Time::Timer::Device::matched()) return;                                                  \
        Time::Timer::Device::clear_match();                                                           \
        Time::Alarm::interrupt();                                                                     \
    }                                                                                                 \
    static_assert(Time::Timer::irq() == ALARM, "the trait Device has another alarm than the one bound here")

/// The same for alarm 0.
#define MCU_INTERRUPTS(Time) MCU_INTERRUPTS_OF(Time, TIMER_IRQ_0_Handler, 0)
