// SPDX-License-Identifier: MIT OR Apache-2.0
// What a program chooses at compile time.
#pragma once

#include <mcu/cpu.h>
#include <mcu/handler.h>

namespace mcu {

/// What a program must not do.
enum Broken {
    INTERVAL_NOT_KEPT, ///< an alarm was asked for an interval that its strategy does not keep: it is not armed
    HANDLER_TOO_LONG,  ///< with CHECKS: a handler took more than a quarter of the counter's range, under Periodic a tick
    LOCK_TOO_LONG,     ///< with CHECKS: interrupts were off for more than that, under Periodic for more than half a tick
    NOT_STARTED,       ///< an alarm or a delay was asked for before `Services::start`: it is not armed, and does not wait
};

/// The traits with a sensible default. A program derives its own from them and adds CLOCK (Hz), PRESCALER, `Device` (the
/// timer) and `Strategy`:
///
///     struct Board : mcu::Default_Traits {
///         static constexpr uint32_t CLOCK = 8000000;
///         static constexpr uint16_t PRESCALER = 64;
///         typedef mcu::AVR_Timer1<PRESCALER> Device;
///         template <class Traits> using Strategy = mcu::Anchored<Traits>;
///     };
struct Default_Traits {
    /// Microseconds: the longest period an alarm may have. Short ones make the code smaller and faster.
    static constexpr uint32_t MAX_PERIOD = 10000000;

    /// Microseconds: the period of the tick of the strategies Periodic and Soft.
    static constexpr uint32_t TICK = 1000;

    /// Whether periods may be inexact, as the paper's are: Periodic and Single_Shot round them to ticks, and Single_Shot
    /// begins each when the event before is served. Without it, what is not kept exactly is refused.
    static constexpr bool INEXACT = false;

    /// Microseconds: how late an event may be on purpose, under Anchored. Events that are due within it of each other take one
    /// interrupt together, and those that `Services::poll` finds due before take none.
    static constexpr uint32_t GRACE = 0;

    /// Microseconds: the tick of an inexact Single_Shot where MAX_PERIOD is beyond the hardware.
    static constexpr uint32_t SOFTWARE_TICK = 10000;

    /// Cycles of the processor that an event takes, its handler and what else runs with interrupts off included. Shorter
    /// intervals are refused: they would fall behind for ever.
    static constexpr uint32_t EVENT_CYCLES = 400;

    /// Whether an event whose successor is due already is left out, and counted (`Alarm::missed`): the overrun policy skip. Else late
    /// events are caught up with, back to back.
    static constexpr bool SKIP_MISSED = false;

    /// Whether handlers and locks are measured while the program runs, for a debug build: `broken` is told.
    static constexpr bool CHECKS = false;

    /// What a program did that it must not do. A program's traits may stop there, or light a lamp.
    static void broken(Broken) {}

    /// 1 writes the period itself into the compare register, as the paper's equation 1 reads and its table 1 shows: every
    /// hardware period is then one count too long. 0 is right.
    static constexpr uint8_t COMPARE_EXCESS = 0;

    /// Whether time stamps are kept (Chronometer, TSC).
    static constexpr bool TIME_STAMPS = false;

    /// What alarms can invoke: any handler, or with Handler_Function nothing else, which saves 6 cycles an event.
    typedef mcu::Handler Handler;

    /// How a thread waits until an interrupt sets a flag: asleep. A program with threads lets others run
    /// (Thread::wait_for).
    static void wait_for(const volatile bool* flag) { CPU::wait_for(flag); }
};

} // namespace mcu
