// SPDX-License-Identifier: MIT OR Apache-2.0
// A real-time clock from a 32.768 kHz watch crystal at TOSC1 and TOSC2.
#pragma once

#include <avr/interrupt.h>
#include <avr/io.h>
#include <mcu/device/avr_cpu.h>

namespace mcu {

/// The asynchronous 8-bit timer (timer 0 of the ATmega128, timer 2 elsewhere), divided by 128: it overflows once a second.
struct AVR_RTC {
    static void start() {
#ifdef TIMSK2
        ASSR = _BV(AS2);
        TCCR2A = 0;
        TCCR2B = _BV(CS22) | _BV(CS20);
        TIMSK2 = _BV(TOIE2);
#else
        ASSR = _BV(AS0);
        TCCR0 = _BV(CS02) | _BV(CS00);
        TIMSK |= _BV(TOIE0);
#endif
    }

    static uint32_t seconds() {
        const CPU::Lock lock;
        return _seconds();
    }

    static void set(uint32_t time) {
        const CPU::Lock lock;
        _seconds() = time;
    }

    static void tick() { _seconds() = _seconds() + 1; }

private:
    static uint32_t& _seconds() {
        static uint32_t seconds;
        return seconds;
    }
};

} // namespace mcu

/// Binds its interrupt: once, at file scope.
#ifdef TIMSK2
#define MCU_RTC_INTERRUPT() \
    ISR(TIMER2_OVF_vect) { mcu::AVR_RTC::tick(); } \
    static_assert(true, "")
#else
#define MCU_RTC_INTERRUPT() \
    ISR(TIMER0_OVF_vect) { mcu::AVR_RTC::tick(); } \
    static_assert(true, "")
#endif
