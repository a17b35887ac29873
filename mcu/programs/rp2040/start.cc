// SPDX-License-Identifier: MIT OR Apache-2.0
// What runs before main() on an RP2040: clocks from the crystal, what is needed out of reset, variables, constructors. The program lies in
// memory, where the ROM enters it at its first byte (data sheet, 2.8.1), as a debugger does at its entry point.
#include <stddef.h>
#include <stdint.h>

#ifndef F_CPU
#define F_CPU 125000000UL
#endif

extern "C" {
int main();
extern uint32_t _bss, _end, _stack;
extern void (*_constructors[])();
extern void (*_constructors_end[])();
void start();
void no_handler();
[[noreturn]] void _start();

void* memset(void* to, int value, size_t size) {
    uint8_t* bytes = static_cast<uint8_t*>(to);
    while (size-- > 0) *bytes++ = uint8_t(value);
    return to;
}

void* memcpy(void* to, const void* from, size_t size) {
    uint8_t* bytes = static_cast<uint8_t*>(to);
    const uint8_t* source = static_cast<const uint8_t*>(from);
    while (size-- > 0) *bytes++ = *source++;
    return to;
}

// Nothing is destroyed, since main() does not end.
void* __dso_handle = nullptr;
int __aeabi_atexit(void*, void (*)(void*), void*) { return 0; }

/// An exception that the program has no handler for.
void no_handler() { __asm__ __volatile__("bkpt #0"); }

#define MCU_HANDLER(NAME) void NAME() __attribute__((weak, alias("no_handler")));
MCU_HANDLER(NMI_Handler)
MCU_HANDLER(HardFault_Handler)
MCU_HANDLER(SVC_Handler)
MCU_HANDLER(PendSV_Handler)
MCU_HANDLER(SysTick_Handler)
MCU_HANDLER(TIMER_IRQ_0_Handler)
MCU_HANDLER(TIMER_IRQ_1_Handler)
MCU_HANDLER(TIMER_IRQ_2_Handler)
MCU_HANDLER(TIMER_IRQ_3_Handler)
MCU_HANDLER(IO_IRQ_BANK0_Handler)
MCU_HANDLER(UART0_IRQ_Handler)
MCU_HANDLER(UART1_IRQ_Handler)
}

typedef void (*Handler)();

/// The vectors (2.3.2): the stack, the entry, the processor's own, then the lines of interrupts.
extern "C" const Handler vectors[48];
const Handler vectors[48] __attribute__((section(".vectors"), used)) = {
    reinterpret_cast<Handler>(&_stack), &_start, &NMI_Handler, &HardFault_Handler, nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr, nullptr, &SVC_Handler, nullptr, nullptr, &PendSV_Handler, &SysTick_Handler,
    // from line 0 on
    &TIMER_IRQ_0_Handler, &TIMER_IRQ_1_Handler, &TIMER_IRQ_2_Handler, &TIMER_IRQ_3_Handler, &no_handler, &no_handler, &no_handler,
    &no_handler, &no_handler, &no_handler, &no_handler, &no_handler, &no_handler, &IO_IRQ_BANK0_Handler, &no_handler, &no_handler,
    &no_handler, &no_handler, &no_handler, &no_handler, &UART0_IRQ_Handler, &UART1_IRQ_Handler, &no_handler, &no_handler, &no_handler,
    &no_handler, &no_handler, &no_handler, &no_handler, &no_handler, &no_handler, &no_handler,
};

/// The first instructions: the stack, and where the vectors are (VTOR).
extern "C" void __attribute__((naked, section(".entry"), used)) _start() {
    __asm__ __volatile__(
        "ldr r0, =0xe000ed08\n ldr r1, =vectors\n str r1, [r0]\n"
        "ldr r0, =_stack\n msr msp, r0\n"
        "ldr r0, =start\n bx r0\n"
        ".ltorg\n");
}

namespace {

volatile uint32_t& at(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

constexpr uint32_t CRYSTAL = 12000000;

/// The PLL (2.18): FBDIV 16 to 320, its oscillator 750 to 1600 MHz, divided twice by 1 to 7; the fastest oscillator first.
struct Loop {
    uint32_t multiplier, first, second;
};

constexpr Loop loop_for(uint32_t hz) {
    for (uint32_t multiplier = 133; multiplier >= 63; multiplier--) {
        for (uint32_t first = 7; first >= 1; first--) {
            for (uint32_t second = first; second >= 1; second--) {
                if (uint64_t(CRYSTAL) * multiplier == uint64_t(hz) * first * second) return Loop{multiplier, first, second};
            }
        }
    }
    return Loop{0, 0, 0};
}

void start_clocks() {
    constexpr Loop LOOP = loop_for(F_CPU);
    static_assert(LOOP.multiplier != 0 || F_CPU == CRYSTAL, "the PLL cannot make this clock from the crystal's 12 MHz: take one such as 125 or 133 MHz");
    constexpr uint32_t NEEDED = 1u << 5 | 1u << 8 | 1u << 12 | 1u << 21 | 1u << 22; // pins, pads, PLL, timer, serial port
    at(0x4000f000) = NEEDED;
    while ((at(0x4000c008) & NEEDED) != NEEDED) {
    }
    // The crystal (2.16): after about a millisecond it is stable.
    at(0x4002400c) = (CRYSTAL / 1000 + 128) / 256;
    at(0x40024000) = 0xfabaa0;
    while ((at(0x40024004) & 1u << 31) == 0) {
    }
    at(0x40008030) = 2; // the reference clock is the crystal,
    while ((at(0x40008038) & 1u << 2) == 0) {
    }
    at(0x4005802c) = 1u << 9 | CRYSTAL / 1000000; // of which twelve make a microsecond
    if (F_CPU != CRYSTAL) {
        at(0x40028000) = 1;
        at(0x40028008) = LOOP.multiplier;
        at(0x4002b004) = 1u << 5 | 1; // power for the loop and its oscillator
        while ((at(0x40028000) & 1u << 31) == 0) {
        }
        at(0x4002800c) = LOOP.first << 16 | LOOP.second << 12;
        at(0x4002b004) = 1u << 3; // and for its dividers
        at(0x4000803c) = 0;
        at(0x4000803c) = 1; // the processor's clock is the loop
        while ((at(0x40008044) & 1u << 1) == 0) {
        }
    }
    at(0x40008048) = 1u << 11; // the clock of serial ports is the processor's
}

} // namespace

void start() {
    for (uint32_t* word = &_bss; word < &_end; word++) *word = 0;
    start_clocks();
    for (void (**constructor)() = _constructors; constructor < _constructors_end; constructor++) (*constructor)();
    main();
    for (;;) __asm__ __volatile__("wfi");
}
