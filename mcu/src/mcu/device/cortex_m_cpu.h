// SPDX-License-Identifier: MIT OR Apache-2.0
// ARM's Cortex-M cores, from M0 on (without the registers of a floating-point unit).
#pragma once

#include <stdint.h>

namespace mcu {

struct CPU {
    /// Keeps interrupts out for its lifetime; nests. By PRIMASK, so all that have a priority.
    class Lock {
    public:
        Lock() : _primask(primask()) { disable_interrupts(); }
        ~Lock() { __asm__ __volatile__("msr primask, %0" : : "r"(_primask) : "memory"); }
        Lock(const Lock&) = delete;

    private:
        static uint32_t primask() {
            uint32_t value;
            __asm__ __volatile__("mrs %0, primask" : "=r"(value));
            return value;
        }

        const uint32_t _primask;
    };

    static void enable_interrupts() { __asm__ __volatile__("cpsie i" : : : "memory"); }
    static void disable_interrupts() { __asm__ __volatile__("cpsid i" : : : "memory"); }

    /// Sleeps until the flag is set, which an interrupt does. A pending interrupt ends the sleep although it is kept out, so
    /// none slips in between looking at the flag and falling asleep.
    static void wait_for(const volatile bool* flag) {
        const Lock lock;
        while (!*flag) sleep();
    }

    /// Sleeps until an interrupt has been served; called, and returns, with interrupts off.
    static void sleep() { __asm__ __volatile__("wfi\n cpsie i\n isb\n cpsid i" : : : "memory"); }

    /// Calls a function out of an interrupt's handler: the processor has saved what a call may change.
    template <void (*FUNCTION)()>
    static void call_from_interrupt() {
        FUNCTION();
    }

    /// Where a thread that does not run goes on: its stack pointer, from which on lies what a call has to preserve.
    typedef uint32_t* Context;

    /// A thread that will begin with `entry` on this stack.
    static void prepare(Context* context, uint8_t* stack, unsigned size, void (*entry)()) {
        uint32_t* top = reinterpret_cast<uint32_t*>((reinterpret_cast<uintptr_t>(stack) + size) & ~uintptr_t(7));
        *--top = uint32_t(reinterpret_cast<uintptr_t>(entry));
        *context = top - SAVED_REGISTERS;
    }

    /// Leaves the running thread and goes on with another. Called with interrupts off.
    static void __attribute__((naked, noinline)) switch_context(Context* from __attribute__((unused)),
                                                                Context* to __attribute__((unused))) {
        __asm__ __volatile__(
            "push {r4-r7, lr}\n"
            "mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n push {r4-r7}\n"
            "mov r2, sp\n str r2, [r0]\n"
            "ldr r2, [r1]\n mov sp, r2\n"
            "pop {r4-r7}\n mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n"
            "pop {r4-r7, pc}\n");
    }

private:
    static constexpr unsigned SAVED_REGISTERS = 8;
};

} // namespace mcu
