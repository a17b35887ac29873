// SPDX-License-Identifier: MIT OR Apache-2.0
// The board of the example programs: an AVR, a Raspberry Pi Pico, or this POSIX system. The macros are set by `jitterlab mcu`; for a board of
// your own, write such a struct with fixed values.
#pragma once

#include <mcu/ostream.h>
#include <mcu/services.h>

#ifdef __AVR__
#include <mcu/device/avr_rtc.h>
#include <mcu/device/avr_timer16.h>
#include <mcu/device/avr_uart.h>
#elif defined(__arm__)
#include "board_rp2040.h"
#else
#include <mcu/device/posix_board.h>
#include <mcu/device/posix_timer.h>
#endif

#ifndef F_CPU
#define F_CPU 7372800UL
#endif
#ifndef MCU_PRESCALER
#define MCU_PRESCALER 64
#endif
#ifndef MCU_STRATEGY
#define MCU_STRATEGY Anchored
#endif

struct Traits : mcu::Default_Traits {
    static constexpr uint32_t CLOCK = F_CPU;
    static constexpr uint16_t PRESCALER = MCU_PRESCALER;
    static constexpr bool TIME_STAMPS = true;
#ifdef MCU_MAX_PERIOD
    static constexpr uint32_t MAX_PERIOD = MCU_MAX_PERIOD;
#endif
#ifdef MCU_TICK
    static constexpr uint32_t TICK = MCU_TICK;
#endif
#ifdef MCU_INEXACT
    // For measuring what is inexact, and what falls behind.
    static constexpr bool INEXACT = true;
    static constexpr uint32_t EVENT_CYCLES = 1;
#endif
#ifdef MCU_SOFTWARE_TICK
    static constexpr uint32_t SOFTWARE_TICK = MCU_SOFTWARE_TICK;
#endif
#ifdef MCU_COMPARE_EXCESS
    static constexpr uint8_t COMPARE_EXCESS = MCU_COMPARE_EXCESS;
#endif

    template <class Traits>
    using Strategy = mcu::MCU_STRATEGY<Traits>;

#ifdef __AVR__
    typedef mcu::AVR_Timer1<PRESCALER> Device;
    typedef mcu::AVR_RTC RTC;
#elif defined(__arm__)
    typedef MCU_DEVICE<CLOCK, PRESCALER> Device;
    typedef mcu::RP2040_RTC RTC;
#else
    typedef mcu::POSIX_Timer<CLOCK, PRESCALER> Device;
    typedef mcu::POSIX_RTC RTC;
#endif
};

#ifdef __AVR__
typedef mcu::OStream<mcu::AVR_UART<F_CPU>> OStream;

/// Bytes of stack that a thread of the examples needs.
static constexpr unsigned STACK_SIZE = 128;

/// Pin B0 says when an event's handler runs, pin B1 when a program asks for its alarm: for oscilloscopes and simulators.
struct Mark {
    static void init() { DDRB |= _BV(PB0) | _BV(PB1); }
    static void request() { PORTB |= _BV(PB1); }
    static void begin() { PORTB |= _BV(PB0); }
    static void end() { PORTB &= uint8_t(~_BV(PB0)); }
};

/// The end of a program: the processor stops. (In a loop, since simavr wakes from an interrupt that is not let in.)
inline void halt() {
    cli();
    sleep_enable();
    for (;;) sleep_cpu();
}
#elif !defined(__arm__)
typedef mcu::OStream<mcu::POSIX_Console> OStream;

static constexpr unsigned STACK_SIZE = 65536;

struct Mark {
    static void init() {}
    static void request() {}
    static void begin() {}
    static void end() {}
};

inline void halt() {}
#endif
