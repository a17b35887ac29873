// SPDX-License-Identifier: MIT OR Apache-2.0
// Timer 2 of the ATmega chips from the ATmega48 on, counting a 32.768 kHz watch crystal at TOSC1 and TOSC2: alarms that the chip wakes
// for from power-save.
#pragma once

#include <mcu/device/avr_timer2.h>

namespace mcu {

/// The crystal's clock is not the processor's: what is written reaches the timer with the crystal's second edge, and must not be
/// written again before (section 18.9 of the ATmega328P's data sheet). With PRESCALER 1 a count is 31 us, and an interval beyond 96
/// counts takes an interrupt for each 96; with 128 a count is 3.9 ms, with 1024 31 ms. Only Anchored can use it, without TIME_STAMPS.
///
/// Traits that sleep in power-save, where everything else on the chip may sleep, too:
///
///     static void wait_for(const volatile bool* flag) { Device::wait_for(flag); }
///
/// A crystal takes up to a second to swing: `start` does not wait for that.
template <uint16_t PRESCALER>
struct AVR_Timer2_Crystal : AVR_Timer2<PRESCALER> {
    /// What is counted, through PRESCALER.
    static constexpr uint32_t CLOCK = 32768;

    /// How many counts ahead a compare value has to be when it is written: it arrives after up to three edges of the crystal.
    static constexpr uint8_t LEAD = PRESCALER == 1 ? 3 : 1;

    static void run_free() {
        ASSR = _BV(AS2);
        TCCR2A = 0;
        TCNT2 = 0;
        OCR2A = 0;
        TCCR2B = AVR_Timer2<PRESCALER>::CLOCK_SELECT;
        wait();
        TIFR2 = _BV(OCF2A) | _BV(OCF2B) | _BV(TOV2);
    }

    /// After power-save the counter reads as it was before, until the crystal's next edge.
    static uint8_t count() {
        if (_slept) {
            _slept = false;
            pass_on();
        }
        return TCNT2;
    }

    /// Until the compare register can be written.
    static void wait() {
        while (ASSR & (_BV(TCN2UB) | _BV(OCR2AUB) | _BV(TCR2AUB) | _BV(TCR2BUB))) {}
    }

    /// Sleeps in power-save until an interrupt sets the flag.
    static void wait_for(const volatile bool* flag) {
        const CPU::Lock lock;
        while (!*flag) {
            // What is not passed on does not wake, and an interrupt of this cycle of the crystal would wake again.
            pass_on();
            _slept = true;
            CPU::sleep(SLEEP_MODE_PWR_SAVE);
        }
    }

private:
    /// Writes something and waits until it has arrived: a cycle of the crystal has passed, and all that was written before has arrived.
    static void pass_on() {
        wait();
        TCCR2A = TCCR2A;
        wait();
    }

    static volatile bool _slept;
};

template <uint16_t PRESCALER>
volatile bool AVR_Timer2_Crystal<PRESCALER>::_slept;

} // namespace mcu
