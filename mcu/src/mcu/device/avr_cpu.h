// SPDX-License-Identifier: MIT OR Apache-2.0
// The AVR core.
#pragma once

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

namespace mcu {

struct CPU {
    /// Keeps interrupts out for its lifetime; nests.
    class Lock {
    public:
        Lock() : _sreg(SREG) { cli(); }
        ~Lock() {
            __asm__ __volatile__("" ::: "memory");
            SREG = _sreg;
        }
        Lock(const Lock&) = delete;

    private:
        const uint8_t _sreg;
    };

    static void enable_interrupts() { sei(); }
    static void disable_interrupts() { cli(); }

    /// Sleeps until the flag is set, which an interrupt does. The instruction after SEI runs before any interrupt, so
    /// none slips in between looking at the flag and falling asleep.
    static void wait_for(const volatile bool* flag) {
        const Lock lock;
        while (!*flag) sleep();
    }

    /// Sleeps until an interrupt has been served; called, and returns, with interrupts off.
    static inline __attribute__((always_inline)) void sleep(uint8_t mode = SLEEP_MODE_IDLE) {
        set_sleep_mode(mode);
        sleep_enable();
        sei();
        sleep_cpu();
        sleep_disable();
        cli();
    }

    /// Calls a function out of an interrupt's handler, which itself saves only the few registers it uses: the others that
    /// a call may change are saved here, so that they cost nothing where the call is not reached.
    template <void (*FUNCTION)()>
    static inline __attribute__((always_inline)) void call_from_interrupt() {
        __asm__ __volatile__(
            "push r18\n push r19\n push r20\n push r21\n push r22\n push r23\n"
            "push r26\n push r27\n push r30\n push r31\n"
            "clr __zero_reg__\n"
            "%~call %x0\n"
            "pop r31\n pop r30\n pop r27\n pop r26\n"
            "pop r23\n pop r22\n pop r21\n pop r20\n pop r19\n pop r18\n"
            :
            : "i"(FUNCTION)
            : "r0", "r24", "r25", "memory");
    }

    /// Where a thread that does not run goes on: its stack pointer, under which lies what a call has to preserve.
    typedef uint8_t* Context;

    /// A thread that will begin with `entry` on this stack.
    static void prepare(Context* context, uint8_t* stack, unsigned size, void (*entry)()) {
        uint8_t* top = stack + size - 1;
        const uint16_t address = uint16_t(entry);
        *top-- = uint8_t(address);
        *top-- = uint8_t(address >> 8);
#ifdef __AVR_3_BYTE_PC__
        *top-- = 0;
#endif
        *context = top - SAVED_REGISTERS;
    }

    /// Leaves the running thread and goes on with another. Called with interrupts off.
    static void __attribute__((naked, noinline)) switch_context(Context* from __attribute__((unused)),
                                                                Context* to __attribute__((unused))) {
        __asm__ __volatile__(
            "push r2\n push r3\n push r4\n push r5\n push r6\n push r7\n push r8\n push r9\n"
            "push r10\n push r11\n push r12\n push r13\n push r14\n push r15\n push r16\n push r17\n"
            "push r28\n push r29\n"
            "movw r30, r24\n" // Z = from
            "in r26, __SP_L__\n in r27, __SP_H__\n st Z, r26\n std Z+1, r27\n"
            "movw r30, r22\n" // Z = to
            "ld r26, Z\n ldd r27, Z+1\n out __SP_H__, r27\n out __SP_L__, r26\n"
            "pop r29\n pop r28\n"
            "pop r17\n pop r16\n pop r15\n pop r14\n pop r13\n pop r12\n pop r11\n pop r10\n"
            "pop r9\n pop r8\n pop r7\n pop r6\n pop r5\n pop r4\n pop r3\n pop r2\n"
            "ret\n");
    }

private:
    static constexpr unsigned SAVED_REGISTERS = 18;
};

} // namespace mcu
