// SPDX-License-Identifier: MIT OR Apache-2.0
// Single shot on a counter that never stops: every due time is an absolute count.
#pragma once

#include <mcu/strategy/absolute.h>

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
class Anchored : public Absolute<Traits, typename If<Timer<Traits>::FAR, uint32_t, typename Timer<Traits>::Count>::Result> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;
    typedef typename Timer::Count Count;
    typedef typename Signed<Count>::Result Signed_Count;

    static constexpr uint64_t QUARTER = Timer::QUARTER;
    static constexpr bool STATIONS = Timer::FAR;
    /// From station to station: with a quarter of the range to be late, it stays within the half that is the future.
    static constexpr Count SPAN = Count(QUARTER + QUARTER / 2);
    static constexpr Signed_Count LEAD = Timer::LEAD;
    /// From a due time to its interrupt.
    static constexpr uint64_t GRACE = Timer::counts(Traits::GRACE);
    static_assert(GRACE < QUARTER / 2, "GRACE is above an eighth of the timer's range: shorten it or choose a larger prescaler");

public:
    static constexpr bool NEVER_STOPS = false;

    typedef typename If<STATIONS, uint32_t, Count>::Result Tick;
    typedef typename Signed<Tick>::Result Remaining;
    typedef Exact_Period<Tick, Timer::DENOMINATOR> Period;
    /// Ticks between events that need no station.
    typedef Count Short;

    /// Whether the head is served later than it may be.
    static bool late() { return Remaining(0) - remaining() >= Remaining(QUARTER); }

    /// The queue is about to be filled.
    static void start() { Device::enable_match(); }

    /// Nothing is left to wait for.
    static void stop() { Device::disable_match(); }

    /// The interrupt: true when the head is due, false at a station on the way to it.
    static bool expired() {
        // What was asked for before may match still, until another value has reached the timer.
        if (LEAD != 0 && Signed_Count(_last + 1 - Device::count()) > 0) return false;
        while (beyond() != 0) {
            if (next(beyond())) return false;
        }
        return true;
    }

    /// Ticks from a moment to the head's due time; zero or less if that has passed.
    static Remaining remaining(Count now = Device::count()) {
        return Remaining(Signed_Count(_last + 1 - now) + Remaining(beyond()));
    }

    /// In the interrupt: the next event is due `ticks` after this one. False if that has passed already, and its
    /// interrupt will not come.
    static bool next(Tick ticks) { return is_ahead(go(ticks)); }

    /// The same where `is_simple`, for the first event an interrupt serves: the hardware has forgotten the match.
    static inline __attribute__((always_inline)) bool next_simple(Count ticks) {
        const Count last = Count(_last + ticks);
        _last = last;
        return is_ahead(match_after(Count(last + GRACE), false));
    }

    /// Whether events of this period, after the present one, need no station.
    static bool is_simple(const Period& period) {
        return LEAD == 0 && (!STATIONS || (beyond() == 0 && period.ticks() < SPAN));
    }

    /// Outside of the interrupt: the head is due so many ticks after a moment. If that has passed already, the
    /// interrupt comes as soon as the hardware can give it; the due time stays what it is.
    static void aim(Count now, Remaining ahead) {
        if (ahead < 0) {
            now = Count(now + Count(ahead));
            ahead = 0;
        }
        _last = Count(now - 1);
        bool comes = go(Tick(ahead));
        for (Count margin = 1; !comes; margin = Count(margin * 2)) comes = ask(Count(Device::count() + margin));
    }

private:
    /// How much of a distance the counter is asked for at once. Of what is less than two spans the half: a station right before
    /// an event would keep it waiting.
    static inline __attribute__((always_inline)) Count stage(Tick ticks) {
        if (STATIONS && ticks >= 2 * Tick(SPAN)) return SPAN;
        return !STATIONS || Count(ticks) <= SPAN ? Count(ticks) : Count(Count(ticks) / 2);
    }

    /// Goes on by `ticks`, or to a station before. False if no match will come.
    static __attribute__((noinline)) bool go(Tick ticks) {
        const Count step = stage(ticks);
        set_beyond(Tick(ticks - step));
        _last = Count(_last + step);
        return ask(Count(_last + GRACE));
    }

    /// Asks for a match when the counter leaves `value`, and for no other. False if it has left it: then none comes.
    static __attribute__((noinline)) bool ask(Count value) { return match_after(value, true); }

    /// Whether what the timer was asked for is to come: with GRACE it may be due before its match.
    static inline __attribute__((always_inline)) bool is_ahead(bool comes) {
        return GRACE == 0 ? comes : Signed_Count(_last - Device::count()) >= 0;
    }

    /// The same, where `forget` only if a match may wait that belongs to the past.
    static inline __attribute__((always_inline)) bool match_after(Count value, bool forget) {
        if (LEAD != 0) return match_ahead<Device>(value, nullptr);
        Device::compare(value);
        if (forget) Free_Running<Traits>::forget_match();
        return Signed_Count(value - Device::count()) >= 0;
    }

    /// The same where values take some counts to reach the timer: what is nearer comes so much later.
    template <class Slow>
    static bool match_ahead(Count value, decltype(Slow::LEAD)*) {
        Slow::wait();
        const Count now = Device::count();
        const Signed_Count ahead = Signed_Count(value - now);
        if (ahead < 0) return false;
        Device::compare(ahead < LEAD ? Count(now + LEAD) : value);
        Free_Running<Traits>::forget_match();
        return true;
    }
    template <class>
    static bool match_ahead(Count, ...) {
        return false;
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
