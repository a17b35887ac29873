// SPDX-License-Identifier: MIT OR Apache-2.0
// Timer 1 of the classic ATmega chips: 16 bits, compare unit A.
#pragma once

#include <avr/interrupt.h>
#include <avr/io.h>
#include <mcu/device/avr_cpu.h>

namespace mcu {

/// ATmega128, ATmega1281, ATmega328P and their relatives. Its 16-bit registers share one byte of temporary storage,
/// so they are touched with interrupts off only.
template <uint16_t PRESCALER>
struct AVR_Timer1 {
    typedef uint16_t Count;
    static constexpr unsigned RESOLUTION = 16;

    /// Counts from 0 to 2^16 - 1 and again, for ever.
    static void run_free() {
        TCCR1A = 0;
        TCNT1 = 0;
        TCCR1B = CLOCK_SELECT;
    }

    /// Counts from 0 to `top` and again: a match every top + 1 counts.
    static void run_periodic(Count top) {
        TCCR1A = 0;
        TCNT1 = 0;
        OCR1A = top;
        TCCR1B = _BV(WGM12) | CLOCK_SELECT;
    }

    static Count count() { return TCNT1; }

    /// The value that matches.
    static Count compare() { return OCR1A; }

    /// Asks for a match when the counter leaves `value`.
    static void compare(Count value) { OCR1A = value; }

    static void enable_match() { mask() |= _BV(OCIE1A); }
    static void disable_match() { mask() &= uint8_t(~_BV(OCIE1A)); }

    /// Whether a match waits to be served.
    static bool matched() { return (flags() & _BV(OCF1A)) != 0; }

    /// It will not be served.
    static void clear_match() { flags() = _BV(OCF1A); }

    static void enable_overflow() { mask() |= _BV(TOIE1); }

    /// Whether an overflow waits to be served.
    static bool overflowed() { return (flags() & _BV(TOV1)) != 0; }

private:
    static_assert(PRESCALER == 1 || PRESCALER == 8 || PRESCALER == 64 || PRESCALER == 256 || PRESCALER == 1024,
                  "timer 1 divides the clock by 1, 8, 64, 256 or 1024");
    static constexpr uint8_t CLOCK_SELECT = PRESCALER == 1    ? 1
                                            : PRESCALER == 8  ? 2
                                            : PRESCALER == 64 ? 3
                                            : PRESCALER == 256 ? 4
                                                               : 5;

#ifdef TIMSK1
    static volatile uint8_t& mask() { return TIMSK1; }
    static volatile uint8_t& flags() { return TIFR1; }
#else
    static volatile uint8_t& mask() { return TIMSK; }
    static volatile uint8_t& flags() { return TIFR; }
#endif
};

} // namespace mcu

/// Binds the interrupts of timer 1 to a program's time services: once, at file scope.
///
/// A strategy that counts ticks leaves most of its interrupts after one subtraction. To keep those short, what they do not
/// need is saved only where something is due. `flatten` makes an inline handler part of the interrupt.
#define MCU_INTERRUPTS(Time)                                                                      \
    ISR(TIMER1_COMPA_vect, __attribute__((flatten))) {                                            \
        if (!Time::Strategy::COUNTS_TICKS) {                                                      \
            if (Time::Strategy::expired()) Time::Alarm::serve();                                  \
        } else if (Time::Strategy::expired()) {                                                   \
            mcu::CPU::call_from_interrupt<&Time::Alarm::serve_called>();                          \
        }                                                                                         \
    }                                                                                             \
    ISR(TIMER1_OVF_vect) { Time::TSC::overflow(); }                                               \
    static_assert(true, "")
