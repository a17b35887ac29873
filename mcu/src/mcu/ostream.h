// SPDX-License-Identifier: MIT OR Apache-2.0
// Printing numbers and words, to whatever sends characters.
#pragma once

#include <stdint.h>

namespace mcu {

/// The end of a line.
struct End_Of_Line {};
static constexpr End_Of_Line endl{};

/// `Port` has a static put(char).
template <class Port>
class OStream {
public:
    OStream& operator<<(const char* text) {
        while (*text != '\0') Port::put(*text++);
        return *this;
    }

    OStream& operator<<(uint32_t number) {
        char digits[10];
        uint8_t count = 0;
        do digits[count++] = char('0' + number % 10);
        while ((number /= 10) != 0);
        while (count > 0) Port::put(digits[--count]);
        return *this;
    }

    OStream& operator<<(End_Of_Line) {
        Port::put('\n');
        return *this;
    }
};

} // namespace mcu
