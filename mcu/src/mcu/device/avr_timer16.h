// SPDX-License-Identifier: MIT OR Apache-2.0
// The 16-bit timers of the ATmega chips, with one of their compare units.
#pragma once

#include <avr/io.h>
#include <mcu/device/avr_interrupts.h>

namespace mcu {

/// A 16-bit timer of which one compare unit serves the alarms; `Registers` says which (AVR_Timer1_A and so on). Its 16-bit registers
/// share one byte of temporary storage, so they are touched with interrupts off only.
template <class Registers, uint16_t PRESCALER>
struct AVR_Timer16 {
    typedef uint16_t Count;
    static constexpr unsigned RESOLUTION = 16;

    /// The number of the match's vector.
    static constexpr unsigned IRQ = Registers::IRQ;

    /// Counts from 0 to 2^16 - 1 and again, for ever.
    static void run_free() {
        Registers::mode() = 0;
        Registers::counter() = 0;
        Registers::clock() = CLOCK_SELECT;
    }

    /// Counts from 0 to `top` and again: a match every top + 1 counts. Only unit A can end the count.
    static void run_periodic(Count top) {
        static_assert(Registers::ENDS_THE_COUNT, "the strategy Periodic needs compare unit A");
        Registers::mode() = 0;
        Registers::counter() = 0;
        Registers::match() = top;
        Registers::clock() = CLEAR_ON_MATCH | CLOCK_SELECT;
    }

    /// Whether it counts. (A core that uses the timer itself has started it before.)
    static bool counts() { return (Registers::clock() & 7) != 0; }

    static Count count() { return Registers::counter(); }

    /// The value that matches.
    static Count compare() { return Registers::match(); }

    /// Asks for a match when the counter leaves `value`.
    static void compare(Count value) { Registers::match() = value; }

    static void enable_match() { Registers::mask() |= Registers::MATCH; }
    static void disable_match() { Registers::mask() &= uint8_t(~Registers::MATCH); }

    /// Whether a match waits to be served.
    static bool matched() { return (Registers::flags() & Registers::MATCH) != 0; }

    /// It will not be served.
    static void clear_match() { Registers::flags() = Registers::MATCH; }

    static void enable_overflow() { Registers::mask() |= Registers::OVERFLOW; }

    /// Whether an overflow waits to be served.
    static bool overflowed() { return (Registers::flags() & Registers::OVERFLOW) != 0; }

private:
    static_assert(PRESCALER == 1 || PRESCALER == 8 || PRESCALER == 64 || PRESCALER == 256 || PRESCALER == 1024,
                  "a 16-bit timer divides the clock by 1, 8, 64, 256 or 1024");
    static constexpr uint8_t CLEAR_ON_MATCH = _BV(WGM12);
    static constexpr uint8_t CLOCK_SELECT = PRESCALER == 1    ? 1
                                            : PRESCALER == 8  ? 2
                                            : PRESCALER == 64 ? 3
                                            : PRESCALER == 256 ? 4
                                                               : 5;
};

/// The registers of timer N with unit U, and the type `AVR_TimerN_U<PRESCALER>`: all timers have their bits where timer 1 has them.
#define MCU_TIMER16(N, U, IS_A, MASK, FLAGS)                                     \
    struct AVR_Registers##N##_##U {                                              \
        static constexpr bool ENDS_THE_COUNT = IS_A;                             \
        static constexpr uint8_t MATCH = _BV(OCIE##N##U);                        \
        static constexpr uint8_t OVERFLOW = _BV(TOIE##N);                        \
        static constexpr unsigned IRQ = TIMER##N##_COMP##U##_vect_num;           \
        static volatile uint8_t& mode() { return TCCR##N##A; }                   \
        static volatile uint8_t& clock() { return TCCR##N##B; }                  \
        static volatile uint16_t& counter() { return TCNT##N; }                  \
        static volatile uint16_t& match() { return OCR##N##U; }                  \
        static volatile uint8_t& mask() { return MASK; }                         \
        static volatile uint8_t& flags() { return FLAGS; }                       \
        static_assert(OCIE##N##U == OCF##N##U && TOIE##N == TOV##N, "other bits"); \
    };                                                                           \
    template <uint16_t PRESCALER>                                                \
    using AVR_Timer##N##_##U = AVR_Timer16<AVR_Registers##N##_##U, PRESCALER>;

#ifdef TIMSK1
MCU_TIMER16(1, A, true, TIMSK1, TIFR1)
MCU_TIMER16(1, B, false, TIMSK1, TIFR1)
#else
MCU_TIMER16(1, A, true, TIMSK, TIFR)
MCU_TIMER16(1, B, false, TIMSK, TIFR)
#endif
#if defined(TCNT3) && defined(TIMSK3)
MCU_TIMER16(3, A, true, TIMSK3, TIFR3)
MCU_TIMER16(3, B, false, TIMSK3, TIFR3)
#elif defined(TCNT3)
MCU_TIMER16(3, A, true, ETIMSK, ETIFR)
MCU_TIMER16(3, B, false, ETIMSK, ETIFR)
#endif
#if defined(TCNT4) && defined(TIMSK4) && defined(OCR4BL) && !defined(TC4H)
MCU_TIMER16(4, A, true, TIMSK4, TIFR4)
MCU_TIMER16(4, B, false, TIMSK4, TIFR4)
#endif
#ifdef TCNT5
MCU_TIMER16(5, A, true, TIMSK5, TIFR5)
MCU_TIMER16(5, B, false, TIMSK5, TIFR5)
#endif

/// Timer 1 with its first unit: what every chip has.
template <uint16_t PRESCALER>
using AVR_Timer1 = AVR_Timer1_A<PRESCALER>;

} // namespace mcu

/// The same for timer 1 with its first unit.
#define MCU_INTERRUPTS(Time) MCU_INTERRUPTS_OF(Time, TIMER1_COMPA_vect, TIMER1_OVF_vect)
