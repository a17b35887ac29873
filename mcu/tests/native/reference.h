// SPDX-License-Identifier: MIT OR Apache-2.0
// What must happen, computed the plain way: every alarm's next due time in a list, with 64-bit counts and exact fractions.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

/// How a strategy derives due times.
enum Rule {
    ABSOLUTE, // event k of an alarm is due ceil(k * period) counts after the count that follows its making
    RELATIVE, // the next interval of every alarm begins when an event is served
    TICKS,    // as ABSOLUTE, in served ticks instead of counts, with rounded periods
};

/// One alarm. Where reading the counter takes time, the count it was made at is known within bounds only.
struct Entry {
    uint32_t interval;
    int times;         // events still to come; negative: for ever
    uint64_t events;   // so far
    int64_t base_low;  // the event before the first was due between here ...
    int64_t base_high; // ... and here
    uint64_t queued;   // when it came to its place: decides between equal due times
    void* alarm;
};

template <class Board>
class Reference {
public:
    std::vector<Entry*> pending;

    /// Counts (or ticks) from the base of an alarm to its event number k = 1, 2, ...
    static int64_t offset(const Entry& entry, uint64_t k) {
        typedef unsigned __int128 Wide;
        const Wide numerator = Wide(entry.interval) * Board::CLOCK, denominator = Wide(Board::PRESCALER) * 1000000;
        switch (Board::RULE) {
            case ABSOLUTE: return int64_t((numerator * k + denominator - 1) / denominator);
            case RELATIVE: {
                const int64_t rounded = int64_t((numerator + denominator / 2) / denominator);
                return int64_t(k) * (rounded == 0 ? 1 : rounded);
            }
            default: {
                const int64_t counts = int64_t(numerator / denominator);
                const int64_t ticks = (counts + Board::TICK_COUNTS / 2) / Board::TICK_COUNTS;
                return int64_t(k) * (ticks == 0 ? 1 : ticks);
            }
        }
    }

    static int64_t low(const Entry& e) { return e.base_low + offset(e, e.events + 1); }
    static int64_t high(const Entry& e) { return e.base_high + offset(e, e.events + 1); }

    void add(Entry* entry, int64_t base_low, int64_t base_high) {
        entry->base_low = base_low;
        entry->base_high = base_high;
        entry->queued = _sequence++;
        pending.push_back(entry);
    }

    void remove(Entry* entry, int64_t now) {
        const bool was_first = entry == first();
        drop(entry);
        // A relative timer cannot be programmed for the past: everything moves to the next count.
        if (Board::RULE == RELATIVE && was_first && !pending.empty()) {
            const int64_t due = high(*first());
            if (due <= now) shift(now + 1 - due);
        }
    }

    /// An event is served at `now`. Exact: the machine is infinitely fast, so nothing may be off by one count.
    void serve(Entry* entry, int64_t now, bool exact) {
        CHECK(entry->times != 0);
        CHECK(now >= low(*entry));
        if (exact) CHECK(entry == first());
        const int64_t due = low(*entry);
        if (high(*entry) > now) entry->base_high = now - offset(*entry, entry->events + 1);
        ++entry->events;
        if (Board::RULE == RELATIVE && now > due) shift(now - due);
        if (entry->times > 0 && --entry->times == 0) {
            drop(entry);
        } else {
            entry->queued = _sequence++;
        }
    }

    /// The latest count at which the first event must have come.
    int64_t deadline() const { return pending.empty() ? INT64_MAX : high(*first()); }

private:
    Entry* first() const {
        Entry* best = nullptr;
        for (Entry* e : pending) {
            if (best == nullptr || high(*e) < high(*best) || (high(*e) == high(*best) && e->queued < best->queued)) best = e;
        }
        return best;
    }

    void drop(Entry* entry) {
        for (size_t i = 0; i < pending.size(); ++i) {
            if (pending[i] == entry) {
                pending.erase(pending.begin() + long(i));
                return;
            }
        }
        CHECK(false);
    }

    void shift(int64_t counts) {
        for (Entry* e : pending) {
            e->base_low += counts;
            e->base_high += counts;
        }
    }

    uint64_t _sequence = 0;
};
