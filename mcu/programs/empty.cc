// SPDX-License-Identifier: MIT OR Apache-2.0
// one_alarm.cc without the alarm: what remains is the C runtime's start.
#include "board.h"

static volatile bool never = false;

int main() {
    Mark::init();
    mcu::CPU::enable_interrupts();
    Traits::wait_for(&never);
}
