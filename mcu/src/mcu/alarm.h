// SPDX-License-Identifier: MIT OR Apache-2.0
// Alarms: handlers invoked after an interval, once, n times or for ever.
#pragma once

#include <mcu/cpu.h>
#include <mcu/handler.h>
#include <mcu/relative_queue.h>
#include <mcu/timer.h>
#include <mcu/traits.h>

namespace mcu {

/// There is none: it stops the compiler.
void interval_is_not_kept() __attribute__((error(
    "this interval is not kept exactly: it is below EVENT_CYCLES or a count, above MAX_PERIOD, or no whole number of ticks")));

/// How many events an alarm left out, where they may be (trait SKIP_MISSED).
template <bool SKIPS>
class Missed {
public:
    constexpr Missed() : _missed(0) {}

    /// Events that were not invoked, since the next was due already: modulo 65536.
    uint16_t missed() const { return _missed; }

protected:
    void miss() { _missed = uint16_t(_missed + 1); }

private:
    volatile uint16_t _missed;
};

template <>
class Missed<false> {
protected:
    void miss() {}
};

/// A timed event. All alarms of a program share one queue and one hardware timer; the strategy (a trait) decides
/// how the timer is used. An alarm is due at the end of each interval after its construction, never before;
/// an event that comes late (interrupts off, another handler running) is not skipped: late events run back
/// to back (the overrun policy that jitterlab calls catch-up). With the trait SKIP_MISSED those whose successor is due already
/// are left out and counted, and the others stay where they are due (skip).
///
/// Nothing is allocated: the object itself is the queue's element, so it must live as long as it is pending, and
/// its destruction cancels it. Alarms may be made and cancelled anywhere, in handlers too; handlers run in the
/// timer's interrupt only, or in `Services::poll`.
template <class Traits>
class Alarm : public Missed<Traits::SKIP_MISSED> {
    typedef typename Traits::template Strategy<Traits> Strategy;
    typedef typename Strategy::Tick Tick;
    typedef typename Strategy::Remaining Remaining;
    typedef typename Strategy::Period Period;

public:
    typedef uint32_t Microsecond;
    typedef typename Traits::Handler Handler;

    /// For `times`: until cancelled.
    static constexpr int INFINITE = -1;

    /// Whether the strategy keeps an interval exactly, with these traits: what it does not keep is refused.
    static constexpr inline __attribute__((always_inline)) bool keeps(Microsecond interval) {
        return Strategy::keeps(interval);
    }

    /// An alarm that is not armed: `start` does that. It may lie among the global variables.
    ///
    /// @param handler invoked at each event; must outlive the alarm
    constexpr explicit Alarm(Handler* handler)
        : next(nullptr), delta(0), _handler(handler), _period(), _times(0), _over(true), _refused(false) {}

    /// An alarm that is armed, if its interval is kept: see `refused`.
    ///
    /// @param interval microseconds between events. One that is not kept does not compile where it is a constant
    /// @param handler  invoked at each event; must outlive the alarm
    /// @param times    number of events, or INFINITE
    inline __attribute__((always_inline)) Alarm(Microsecond interval, Handler* handler, int times = 1) : Alarm(handler) {
        begin(interval, times);
    }

    /// Arms an alarm, again if it was: the first event comes one interval from now. False, and the alarm is not armed, if
    /// the interval is not kept; where that is a constant, the program does not compile.
    inline __attribute__((always_inline)) bool start(Microsecond interval, int times = INFINITE) {
        cancel();
        return begin(interval, times);
    }

    /// The same with the first event earlier or later than the others: `first` microseconds from now, from there every
    /// `interval`. Both have to be kept. So alarms get phases of their own, and do not wait for each other.
    bool start_after(Microsecond first, Microsecond interval, int times = INFINITE) {
        cancel();
        if (!check(keeps(first) && keeps(interval))) return false;
        _period = Strategy::period(interval);
        return arm(Strategy::period(first).next(), times);
    }

    /// Arms it for a moment: the first event comes when the time stamps (trait TIME_STAMPS, `Services::now`) reach `at`, the
    /// others an `interval` apart. False, and it is not armed, if the interval is not kept, or the moment has passed or is further
    /// away than MAX_PERIOD.
    bool start_at(uint32_t at, Microsecond interval, int times = INFINITE) {
        cancel();
        if (!check(keeps(interval))) return false;
        _period = Strategy::period(interval);
        return arm_at(at, times);
    }

    /// The same for a single event.
    bool start_at(uint32_t at) {
        cancel();
        return arm_at(at, 1);
    }

    /// Whether it is not armed because its interval is not kept, or the services were not started.
    bool refused() const { return _refused; }
    ~Alarm() { cancel(); }

    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    /// No further events. Returns whether any were still to come.
    bool cancel() {
        const CPU::Lock lock;
        const bool first = _queue.head() == this;
        const Moment now = Strategy::now();
        if (first) delta = Tick(Strategy::remaining(now));
        if (!_queue.remove(this)) return false;
        if (_queue.head() == nullptr) {
            Strategy::stop();
        } else if (first) {
            Strategy::aim(now, Remaining(_queue.head()->delta));
        }
        simplify();
        return true;
    }

    /// Whether all its events have been.
    bool over() const { return _over; }

    /// Lets the calling thread wait for at least this many microseconds. False, and it does not wait, beyond MAX_PERIOD, and before
    /// `Services::start`.
    static bool delay(Microsecond time) {
        if (time > Traits::MAX_PERIOD) {
            Traits::broken(INTERVAL_NOT_KEPT);
            return false;
        }
        Handler_Function nothing(&do_nothing);
        Alarm alarm(&nothing);
        alarm._period = Strategy::at_least(time == 0 ? 1 : time);
        if (!alarm.arm(alarm._period.next(), 1)) return false;
        Traits::wait_for(&alarm._over);
        return true;
    }

    /// Outside of the interrupt: serves what is due.
    static void poll() {
        static_assert(!Strategy::COUNTS_TICKS, "only an interrupt lets time pass under this strategy: Soft, or Anchored with GRACE");
        const CPU::Lock lock;
        if (_queue.head() == nullptr || Strategy::remaining() > 0) return;
        _simple = nullptr; // the interrupt has not been here
        serve_others();
    }

    /// The timer's interrupt. One that counts ticks mostly ends after a subtraction: what it does not need is saved only where
    /// something is due.
    static inline __attribute__((always_inline)) void interrupt() {
        if (!Strategy::COUNTS_TICKS) {
            serve();
        } else if (Strategy::expired()) {
            CPU::call_from_interrupt<&Alarm::serve_called>();
        }
    }

private:
    template <class, class>
    friend class Relative_Queue;

    typedef typename Strategy::Moment Moment;
    typedef typename Strategy::Short Short;

    /// Serves what is due. Only the commonest case is inline, since there a call costs more than it saves.
    static inline __attribute__((always_inline)) void serve() {
        Alarm* const alarm = _simple;
        if (Traits::CHECKS && alarm != nullptr && Strategy::late()) Traits::broken(LOCK_TOO_LONG);
        if (alarm != nullptr && Strategy::next_simple(alarm->_period.template next<Short>())) {
            invoke(alarm);
        } else if (Handler::INLINE) {
            // Such an interrupt saves few registers: what is rare saves the others itself.
            CPU::call_from_interrupt<&Alarm::serve_others>();
        } else {
            serve_others();
        }
    }

    /// The same, for who can only call it.
    static __attribute__((noinline)) void serve_called() { serve(); }

    /// What `serve` leaves: events that are not simple, and a simple one after which the next is due already. Takes what is due to its
    /// next due time, times the next event, and invokes the handler; and so on with what is due by then.
    static __attribute__((noinline)) void serve_others() {
        Alarm* alarm = _simple;
        bool next_comes = false;
        if (alarm == nullptr) {
            if (!Strategy::COUNTS_TICKS && !Strategy::expired()) return;
            alarm = _queue.head();
            if (alarm == nullptr) return;
            if (Traits::CHECKS && Strategy::late()) Traits::broken(LOCK_TOO_LONG);
            next_comes = alarm->leave();
        }
        for (;;) {
            invoke(alarm);
            alarm = _queue.head();
            if (next_comes || alarm == nullptr || Strategy::remaining() > 0) return;
            next_comes = alarm->leave();
        }
    }

    static inline __attribute__((always_inline)) void invoke(Alarm* alarm) {
        if (!Traits::CHECKS) return (*alarm->_handler)();
        const typename Traits::Device::Count begin = Traits::Device::count();
        (*alarm->_handler)();
        if (Strategy::too_long(begin)) Traits::broken(HANDLER_TOO_LONG);
    }

    /// Arms what is not armed.
    inline __attribute__((always_inline)) bool begin(Microsecond interval, int times) {
        if (__builtin_constant_p(interval) && !keeps(interval)) interval_is_not_kept();
        if (!check(keeps(interval))) return false;
        _period = Strategy::period(interval);
        return arm(_period.next(), times);
    }

    /// Says it where an interval is not kept.
    inline __attribute__((always_inline)) bool check(bool kept) {
        _refused = !kept;
        if (!kept) {
            _over = true;
            Traits::broken(INTERVAL_NOT_KEPT);
        }
        return kept;
    }

    /// Says it where the services were not started: time would stand still.
    bool started() {
        if (Of_Device<Traits>::template counts<typename Traits::Device>(nullptr)) return true;
        _refused = _over = true;
        Traits::broken(NOT_STARTED);
        return false;
    }

    /// The first event comes after so many ticks. False if the services were not started.
    bool arm(Tick first, int times) {
        const CPU::Lock lock;
        if (!started()) return false;
        if (!set(times)) return true;
        if (_queue.head() == nullptr) Strategy::start();
        insert(Strategy::now(), Tick(first + Strategy::lead()));
        return true;
    }

    /// The first event comes at a time stamp.
    bool arm_at(uint32_t at, int times) {
        static_assert(Traits::TIME_STAMPS && !Strategy::COUNTS_TICKS,
                      "moments are time stamps of a counter that runs free: Anchored, with the trait TIME_STAMPS");
        const CPU::Lock lock;
        if (!started()) return false;
        const uint32_t now = Strategy::time_stamp();
        const uint32_t ahead = at - now;
        if (!check(ahead != 0 && ahead <= uint32_t(Timer<Traits>::counts(Traits::MAX_PERIOD)))) return false;
        if (!set(times)) return true;
        if (_queue.head() == nullptr) Strategy::start();
        insert(Moment(now), Tick(ahead));
        return true;
    }

    /// What is to come. False if that is nothing.
    bool set(int times) {
        _over = times == 0;
        _times = times;
        return times != 0;
    }

    /// Takes it into the queue: it is due so many ticks after `now`.
    void insert(Moment now, Tick due) {
        if (_queue.head() != nullptr) _queue.head()->delta = Tick(Strategy::remaining(now));
        if (_queue.insert(this, due)) Strategy::aim(now, Remaining(due));
        simplify();
    }

    /// The head moves to its next due time, or out if this was its last event. False if what is first then is due already.
    __attribute__((noinline)) bool leave() {
        Tick interval = _period.next();
        const bool last = _times >= 0 && --_times == 0;
        if (Traits::SKIP_MISSED && !last) {
            while (Remaining(Remaining(interval) + Strategy::remaining()) <= 0) {
                interval = Tick(interval + _period.next());
                this->miss();
            }
        }
        _over = last;
        bool next_comes;
        if (next == nullptr) {
            // After the last event, too, the timer is set: it comes no sooner than the others did.
            next_comes = Strategy::next(interval) || last;
            if (last) {
                _queue.clear();
                Strategy::stop();
            }
        } else {
            _queue.pop();
            if (!last) _queue.insert(this, interval);
            next_comes = Strategy::next(_queue.head()->delta);
        }
        simplify();
        return next_comes;
    }

    /// Finds out whether what comes next is the commonest case: an alarm alone, endless, whose periods the hardware times alone.
    static void simplify() {
        Alarm* const head = _queue.head();
        _simple = nullptr;
        if (Traits::SKIP_MISSED || head == nullptr || head->next != nullptr || head->_times >= 0) return;
        if (Strategy::is_simple(head->_period)) _simple = head;
    }

    static void do_nothing() {}

    static Relative_Queue<Alarm, Tick> _queue;
    static Alarm* _simple; // the head, where its events are simple

    Alarm* next; // first, so that a link to it is one to the alarm
    Tick delta;
    Handler* const _handler;
    Period _period;
    int _times; // negative: for ever
    volatile bool _over;
    bool _refused;
};

template <class Traits>
Relative_Queue<Alarm<Traits>, typename Alarm<Traits>::Tick> Alarm<Traits>::_queue;

template <class Traits>
Alarm<Traits>* Alarm<Traits>::_simple;

} // namespace mcu
