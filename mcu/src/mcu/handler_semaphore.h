// SPDX-License-Identifier: MIT OR Apache-2.0
// Events that a semaphore counts.
#pragma once

#include <mcu/handler.h>
#include <mcu/semaphore.h>

namespace mcu {

/// Invokes v at every event; the handling thread invokes p to wait for one. None is lost.
class Handler_Semaphore : public Handler {
public:
    explicit constexpr Handler_Semaphore(Semaphore* semaphore) : Handler(&invoke), _semaphore(semaphore) {}

private:
    static void invoke(Handler* self) { static_cast<Handler_Semaphore*>(self)->_semaphore->v(); }

    Semaphore* const _semaphore;
};

} // namespace mcu
