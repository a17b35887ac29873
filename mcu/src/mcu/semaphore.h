// SPDX-License-Identifier: MIT OR Apache-2.0
// Counting semaphores.
#pragma once

#include <mcu/thread.h>

namespace mcu {

/// Counts events that threads wait for.
class Semaphore {
public:
    explicit Semaphore(int value = 0) : _value(value), _waiting(nullptr) {}

    /// Waits for an event, and takes it.
    void p() {
        const CPU::Lock lock;
        while (_value == 0) {
            Thread* const self = Thread::self();
            self->_next = nullptr;
            Thread** link = &_waiting;
            while (*link != nullptr) link = &(*link)->_next;
            *link = self;
            Thread::block(Thread::WAITING);
        }
        --_value;
    }

    /// Tells of an event; wakes the thread that waits longest. Fit for interrupts.
    void v() {
        const CPU::Lock lock;
        ++_value;
        Thread* const first = _waiting;
        if (first == nullptr) return;
        _waiting = first->_next;
        first->resume();
    }

private:
    volatile int _value;
    Thread* _waiting;
};

} // namespace mcu
