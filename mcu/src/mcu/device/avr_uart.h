// SPDX-License-Identifier: MIT OR Apache-2.0
// Serial port 0 of the classic ATmega chips, sending only.
#pragma once

#include <avr/io.h>

namespace mcu {

/// 8 data bits, no parity, one stop bit. Polled: sending a character takes as long as the line needs.
template <uint32_t CLOCK, uint32_t BAUD = 115200>
struct AVR_UART {
    static void put(char character) {
        UBRR0H = 0;
        UBRR0L = uint8_t((CLOCK + BAUD * 8) / (BAUD * 16) - 1);
        UCSR0B = _BV(TXEN0);
        while ((UCSR0A & _BV(UDRE0)) == 0) {}
        UDR0 = uint8_t(character);
    }
};

} // namespace mcu
