// SPDX-License-Identifier: MIT OR Apache-2.0
// Single shot on a counter that never stops: every due time is an absolute count.
#pragma once

#include <mcu/period.h>
#include <mcu/strategy/free_running.h>
#include <mcu/timer.h>

namespace mcu {

/// The counter runs free, and the compare register holds the next due time itself. An event's due time is derived
/// from the due time before it, never from when that was served, and the fraction of a tick that a period leaves is
/// carried exactly. So no error accumulates: event k comes in the first tick at or after k periods, for ever.
/// Events further away than half the counter's range are reached over stations, which cost an interrupt each but no
/// accuracy.
///
/// With the trait GRACE the interrupt comes that much after the due time: what is due by then is served by one interrupt (smart
/// timers), and what the program asks for before, with `Services::poll`, by none (firm timers).
///
/// No lock and no handler may last a quarter of the counter's range, or a whole range could be lost unseen.
template <class Traits>
class Anchored : public Free_Running<Traits> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;
    typedef typename Timer::Count Count;
    typedef typename Signed<Count>::Result Signed_Count;

    static constexpr uint64_t QUARTER = (Timer::MAX_COUNTS + 1) / 4;
    static constexpr bool STATIONS = Timer::counts(Traits::MAX_PERIOD) >= QUARTER;
    /// From station to station: with a quarter of the range to be late, it stays within the half that is the future.
    static constexpr Count SPAN = Count(QUARTER + QUARTER / 2);
    /// From a due time to its interrupt.
    static constexpr uint64_t GRACE = Timer::counts(Traits::GRACE);
    static_assert(GRACE < QUARTER / 2, "GRACE is above an eighth of the timer's range: shorten it or choose a larger prescaler");

public:
    static constexpr bool COUNTS_TICKS = false;
    static constexpr bool NEVER_STOPS = false;

    /// One count of the timer.
    typedef typename If<STATIONS, uint32_t, Count>::Result Tick;
    typedef typename Signed<Tick>::Result Remaining;
    typedef Exact_Period<Tick, Timer::DENOMINATOR> Period;

    /// Every interval in range: fractions are carried.
    static constexpr inline __attribute__((always_inline)) bool keeps(uint32_t microseconds) {
        return Timer::in_range(microseconds);
    }

    static Period period(uint32_t microseconds) { return Period(Timer::to_counts(microseconds)); }

    /// An event is never early.
    static Period at_least(uint32_t microseconds) { return period(microseconds); }

    /// Whether the head is served later than it may be.
    static bool late() { return Remaining(0) - remaining() >= Remaining(QUARTER); }

    /// Whether a handler that began at this count took longer than it may.
    static bool too_long(Count begin) { return Count(Device::count() - begin) >= Count(QUARTER); }

    /// Ticks to add to an interval that begins now, so that it is never short: this tick has begun already.
    static Tick lead() { return 1; }

    /// The queue is about to be filled: due now, until shifted.
    static void start() {
        _last = Count(Device::count() - 1);
        set_beyond(0);
        Device::enable_match();
    }

    /// Nothing is left to wait for.
    static void stop() { Device::disable_match(); }

    /// The interrupt: true when the head is due, false at a station on the way to it.
    static bool expired() {
        while (beyond() != 0) {
            if (next(beyond())) return false;
        }
        return true;
    }

    /// Ticks from now, a count, to the head's due time; zero or less if that has passed.
    static Remaining remaining(Count now = Device::count()) {
        return Remaining(Signed_Count(_last + 1 - now) + Remaining(beyond()));
    }

    /// In the interrupt: the next event is due `ticks` after this one. False if that has passed already, and its
    /// interrupt will not come.
    static __attribute__((noinline)) bool next(Tick ticks) { return step(ticks, true); }

    /// The same for the first event an interrupt serves: the hardware has forgotten the match (unless a station was
    /// passed by on the way, which may have left one).
    static inline __attribute__((always_inline)) bool next_after_match(Tick ticks) {
        return STATIONS ? next(ticks) : step(ticks, false);
    }

    /// Outside of the interrupt: the head is due `ticks` later than said before. If that has passed already, the
    /// interrupt comes as soon as the hardware can give it; the due time stays what it is.
    static void shift(Remaining ticks) {
        const Remaining ahead = Remaining(remaining() + ticks);
        const Tick rest = ahead > 0 ? Tick(Tick(ahead) - stage(Tick(ahead))) : Tick(0);
        _last = Count(_last + Count(beyond()) + Count(ticks) - Count(rest));
        set_beyond(rest);
        bool comes = match_after(Count(_last + GRACE), true);
        for (Count margin = 1; !comes; margin = Count(margin * 2)) comes = match_after(Count(Device::count() + margin), true);
    }

private:
    /// How much of a distance the counter is asked for at once. Of what is less than two spans the half: a station right before
    /// an event would keep it waiting.
    static inline __attribute__((always_inline)) Count stage(Tick ticks) {
        if (!STATIONS || ticks <= SPAN) return Count(ticks);
        return Count(ticks >= 2 * Tick(SPAN) ? Tick(SPAN) : Tick(ticks / 2));
    }

    /// Goes on by `ticks`, or to a station before.
    static inline __attribute__((always_inline)) bool step(Tick ticks, bool forget) {
        const Count step = stage(ticks);
        set_beyond(Tick(ticks - step));
        const Count last = Count(_last + step);
        _last = last;
        const bool comes = match_after(Count(last + GRACE), forget);
        return GRACE == 0 ? comes : Signed_Count(last - Device::count()) >= 0;
    }

    /// Asks for a match when the counter leaves `value`, and for no other. False if it has left it: then none comes.
    static inline __attribute__((always_inline)) bool match_after(Count value, bool forget) {
        Device::compare(value);
        if (forget) Free_Running<Traits>::forget_match();
        return Signed_Count(value - Device::count()) >= 0;
    }

    static Tick beyond() { return STATIONS ? _beyond : Tick(0); }
    static void set_beyond(Tick ticks) {
        if (STATIONS) _beyond = ticks;
    }

    static Count _last;   // count before the head is due, or the station on the way to it
    static Tick _beyond; // ticks from there to the head
};

template <class Traits>
typename Anchored<Traits>::Count Anchored<Traits>::_last;

template <class Traits>
typename Anchored<Traits>::Tick Anchored<Traits>::_beyond;

} // namespace mcu
