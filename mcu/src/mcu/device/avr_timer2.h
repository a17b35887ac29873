// SPDX-License-Identifier: MIT OR Apache-2.0
// Timer 2 of the ATmega chips from the ATmega48 on: 8 bits, compare unit A. It leaves timer 1 to others.
#pragma once

#include <avr/io.h>
#include <mcu/device/avr_interrupts.h>

namespace mcu {

/// With 8 bits no lock and no handler may last 64 counts, and an interval beyond 96 takes an interrupt for each 96.
template <uint16_t PRESCALER>
struct AVR_Timer2 {
    typedef uint8_t Count;
    static constexpr unsigned RESOLUTION = 8;

    /// The number of the match's vector.
    static constexpr unsigned IRQ = TIMER2_COMPA_vect_num;

    /// Counts from 0 to 255 and again, for ever.
    static void run_free() {
        TCCR2A = 0;
        TCNT2 = 0;
        TCCR2B = CLOCK_SELECT;
    }

    /// Counts from 0 to `top` and again: a match every top + 1 counts.
    static void run_periodic(Count top) {
        TCCR2A = _BV(WGM21);
        TCNT2 = 0;
        OCR2A = top;
        TCCR2B = CLOCK_SELECT;
    }

    /// Whether it counts.
    static bool counts() { return (TCCR2B & 7) != 0; }

    static Count count() { return TCNT2; }
    static Count compare() { return OCR2A; }
    static void compare(Count value) { OCR2A = value; }

    static void enable_match() { TIMSK2 |= _BV(OCIE2A); }
    static void disable_match() { TIMSK2 &= uint8_t(~_BV(OCIE2A)); }
    static bool matched() { return (TIFR2 & _BV(OCF2A)) != 0; }
    static void clear_match() { TIFR2 = _BV(OCF2A); }

    static void enable_overflow() { TIMSK2 |= _BV(TOIE2); }
    static bool overflowed() { return (TIFR2 & _BV(TOV2)) != 0; }

protected:
    static_assert(PRESCALER == 1 || PRESCALER == 8 || PRESCALER == 32 || PRESCALER == 64 || PRESCALER == 128 ||
                      PRESCALER == 256 || PRESCALER == 1024,
                  "timer 2 divides the clock by 1, 8, 32, 64, 128, 256 or 1024");
    static constexpr uint8_t CLOCK_SELECT = PRESCALER == 1     ? 1
                                            : PRESCALER == 8   ? 2
                                            : PRESCALER == 32  ? 3
                                            : PRESCALER == 64  ? 4
                                            : PRESCALER == 128 ? 5
                                            : PRESCALER == 256 ? 6
                                                               : 7;
};

} // namespace mcu
