// SPDX-License-Identifier: MIT OR Apache-2.0
// From a timer's interrupts to a program's time services.
#pragma once

#include <avr/interrupt.h>
#include <mcu/device/avr_cpu.h>

/// Binds the interrupts of a timer's unit to a program's time services: once, at file scope.
///
///     MCU_INTERRUPTS_OF(Time, TIMER3_COMPB_vect, TIMER3_OVF_vect);
///
/// The wrong interrupt does not compile: the timer names its own.
/// `flatten` makes an inline handler part of the interrupt.
#define MCU_INTERRUPTS_OF(Time, MATCH_VECTOR, OVERFLOW_VECTOR)                                    \
    ISR(MATCH_VECTOR, __attribute__((flatten))) { Time::Alarm::interrupt(); }                     \
    ISR(OVERFLOW_VECTOR) { Time::TSC::overflow(); }                                               \
    static_assert(Time::Timer::irq() == MATCH_VECTOR##_num, "the trait Device has another interrupt than the one bound here")
