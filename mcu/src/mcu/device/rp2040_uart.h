// SPDX-License-Identifier: MIT OR Apache-2.0
// Serial port 0 of the RP2040, sending only.
#pragma once

#include <stdint.h>

namespace mcu {

/// 8 data bits, no parity, one stop bit, at pin GP0. Polled: sending a character waits until there is room for it.
template <uint32_t CLOCK, uint32_t BAUD = 115200>
struct RP2040_UART {
    static void put(char character) {
        if ((at(CONTROL) & 1) == 0) start();
        while ((at(FLAGS) & FULL) != 0) {
        }
        at(DATA) = uint8_t(character);
    }

private:
    static constexpr uintptr_t DATA = 0x40034000, FLAGS = 0x40034018, WHOLE = 0x40034024, FRACTION = 0x40034028, LINE = 0x4003402c,
                               CONTROL = 0x40034030;
    static constexpr uint32_t FULL = 1u << 5;

    static volatile uint32_t& at(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

    static void start() {
        constexpr uint32_t DIVISOR = (CLOCK * 4u + BAUD / 2) / BAUD; // in 64ths
        static_assert(CLOCK <= 0xffffffffu / 4 - BAUD, "a clock this high overflows");
        at(WHOLE) = DIVISOR / 64;
        at(FRACTION) = DIVISOR % 64;
        at(LINE) = 0x70; // 8 bits, with a queue
        at(CONTROL) = 0x301;
        at(0x40014004) = 2; // GP0 is its pin
    }
};

} // namespace mcu
