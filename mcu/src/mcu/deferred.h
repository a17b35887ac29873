// SPDX-License-Identifier: MIT OR Apache-2.0
// Work that an event asks for and the main program does: outside of the interrupt, however long it takes.
#pragma once

#include <mcu/cpu.h>
#include <mcu/handler.h>

namespace mcu {

/// A handler that only notes its work; `run`, in the loop of the main program, does it.
class Deferred : public Handler {
public:
    /// @param work is told how many events have come since it was done last
    explicit constexpr Deferred(void (*work)(uint8_t events))
        : Handler(&ask), _work(work), _next(nullptr), _events(0) {}

    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;

    /// Sleeps until there is work, and does it: what was asked for first, first.
    static void run() {
        CPU::wait_for(&waiting());
        while (run_one()) {
        }
    }

    /// Does the work that was asked for first; false if there is none.
    static bool run_one() {
        Deferred* first;
        uint8_t events;
        {
            const CPU::Lock lock;
            first = head();
            if (first == nullptr) return false;
            head() = first->_next;
            waiting() = head() != nullptr;
            events = first->_events;
            first->_events = 0;
        }
        first->_work(events);
        return true;
    }

private:
    static Deferred*& head() {
        static Deferred* first = nullptr;
        return first;
    }

    static volatile bool& waiting() {
        static volatile bool any = false;
        return any;
    }

    static void ask(Handler* self) {
        Deferred* const work = static_cast<Deferred*>(self);
        if (work->_events != 0) {
            if (work->_events != 0xff) ++work->_events;
            return;
        }
        work->_events = 1;
        work->_next = nullptr;
        Deferred** link = &head();
        while (*link != nullptr) link = &(*link)->_next;
        *link = work;
        waiting() = true;
    }

    void (*const _work)(uint8_t);
    Deferred* _next;
    uint8_t _events; // 255 are that many or more
};

} // namespace mcu
