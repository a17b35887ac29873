// What a program chooses at compile time.
#pragma once

#include <mcu/cpu.h>
#include <mcu/handler.h>

namespace mcu {

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

    /// Microseconds: the period of the tick of the strategy Periodic.
    static constexpr uint32_t TICK = 1000;

    /// Microseconds: the tick of Single_Shot where MAX_PERIOD is beyond the hardware.
    static constexpr uint32_t SOFTWARE_TICK = 10000;

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
