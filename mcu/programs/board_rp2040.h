// SPDX-License-Identifier: MIT OR Apache-2.0
// The example programs' board where it is a Raspberry Pi Pico: Periodic counts SysTick, the other strategies the timer's microseconds.
#pragma once

#include <mcu/device/rp2040_timer.h>
#include <mcu/device/rp2040_uart.h>
#include <mcu/ostream.h>

#ifndef F_CPU
#define F_CPU 125000000UL
#endif

// Whether the strategy is Periodic.
#define MCU_IS_Periodic 1
#define MCU_IS(STRATEGY) MCU_IS_(STRATEGY)
#define MCU_IS_(STRATEGY) MCU_IS_##STRATEGY

#ifndef MCU_STRATEGY
#define MCU_STRATEGY Anchored
#endif

#if MCU_IS(MCU_STRATEGY)
#include <mcu/device/cortex_m_systick.h>
#undef MCU_INTERRUPTS
#define MCU_INTERRUPTS(Time) MCU_SYSTICK_INTERRUPT(Time)
#define MCU_PRESCALER 1
#define MCU_DEVICE mcu::Cortex_SysTick
#else
#define MCU_PRESCALER (F_CPU / 1000000)
#define MCU_DEVICE mcu::RP2040_Timer
#endif

typedef mcu::OStream<mcu::RP2040_UART<F_CPU>> OStream;

/// Bytes of stack that a thread of the examples needs.
static constexpr unsigned STACK_SIZE = 512;

/// Pin GP2 says when an event's handler runs, pin GP3 when a program asks for its alarm: for oscilloscopes and simulators.
struct Mark {
    static void init() {
        pad(2) = pad(3) = 5; // the processor's own pins
        sio(0x24) = EVENT | REQUEST;
    }
    static void request() { sio(0x14) = REQUEST; }
    static void begin() { sio(0x14) = EVENT; }
    static void end() { sio(0x18) = EVENT; }

private:
    static constexpr uint32_t EVENT = 1u << 2, REQUEST = 1u << 3;
    static volatile uint32_t& sio(uint32_t offset) { return *reinterpret_cast<volatile uint32_t*>(0xd0000000 + offset); }
    static volatile uint32_t& pad(uint32_t pin) { return *reinterpret_cast<volatile uint32_t*>(0x40014004 + 8 * pin); }
};

/// The end of a program: nothing can wake the processor.
inline void halt() {
    mcu::CPU::disable_interrupts();
    *reinterpret_cast<volatile uint32_t*>(0xe000e180) = 0xffffffff;
    *reinterpret_cast<volatile uint32_t*>(0xe000e010) = 0;
    for (;;) __asm__ __volatile__("wfi");
}
