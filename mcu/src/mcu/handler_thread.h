// SPDX-License-Identifier: MIT OR Apache-2.0
// Events that resume a thread.
#pragma once

#include <mcu/handler.h>
#include <mcu/thread.h>

namespace mcu {

/// Resumes a thread at every event; the thread suspends itself when it has handled one. Events that come before it did are
/// lost: where that matters, use Handler_Semaphore.
class Handler_Thread : public Handler {
public:
    explicit constexpr Handler_Thread(Thread* thread) : Handler(&invoke), _thread(thread) {}

private:
    static void invoke(Handler* self) { static_cast<Handler_Thread*>(self)->_thread->resume(); }

    Thread* const _thread;
};

} // namespace mcu
