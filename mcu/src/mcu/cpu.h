// SPDX-License-Identifier: MIT OR Apache-2.0
// The processor: keeping interrupts out, and sleeping until one comes.
#pragma once

#if defined(MCU_CPU)
#include MCU_CPU // a processor of your own, or a simulated one
#elif defined(__AVR__)
#include <mcu/device/avr_cpu.h>
#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#include <mcu/device/cortex_m_cpu.h>
#else
#include <mcu/device/posix_cpu.h>
#endif
