// SPDX-License-Identifier: MIT OR Apache-2.0
// The processor: keeping interrupts out, and sleeping until one comes.
#pragma once

#if defined(MCU_CPU)
#include MCU_CPU // a processor of your own, or a simulated one
#elif defined(__AVR__)
#include <mcu/device/avr_cpu.h>
#else
#include <mcu/device/posix_cpu.h>
#endif
