// SPDX-License-Identifier: MIT OR Apache-2.0
// What a hardware timer can time: prescaler, resolution, and the paper's equation 1 at compile time.
#pragma once

#include <mcu/arithmetic.h>

namespace mcu {

/// What a device may say of itself, and what holds where it does not.
template <class Traits>
struct Of_Device {
    /// Hz: what it counts, through the prescaler.
    template <class Device>
    static constexpr uint32_t clock(decltype(Device::CLOCK)*) {
        return Device::CLOCK;
    }
    template <class Device>
    static constexpr uint32_t clock(...) {
        return Traits::CLOCK;
    }

    /// How many counts ahead a compare value has to be when it is written, to be sure to match: 0 where the timer has the
    /// processor's clock. Such a device has `wait()` too: until the compare register can be written.
    template <class Device>
    static constexpr uint8_t lead(decltype(Device::LEAD)*) {
        return Device::LEAD;
    }
    template <class Device>
    static constexpr uint8_t lead(...) {
        return 0;
    }

    /// Whether it counts, which it does from `Services::start` on.
    template <class Device>
    static bool counts(decltype(Device::counts())*) {
        return Device::counts();
    }
    template <class Device>
    static bool counts(...) {
        return true;
    }
};

/// The facts of a timer of RESOLUTION bits, clocked through a prescaler by the processor's clock, or one of its own.
///
/// A *count* is one step of the timer: PRESCALER / CLOCK seconds, the fraction DENOMINATOR / NUMERATOR of a
/// microsecond. Equation 1 of Froehlich et al. (SAC 2009) bounds what one hardware period can be:
/// D / C <= P <= D (2^r - 1) / C. Periods above it, up to the trait MAX_PERIOD, are counted in software; whether
/// that code exists at all is decided here, at compile time.
template <class Traits>
struct Timer {
    typedef typename Traits::Device Device;
    typedef typename Device::Count Count;
    typedef uint32_t Microsecond;

    static constexpr uint32_t HZ = Of_Device<Traits>::template clock<Device>(nullptr);
    static constexpr uint8_t LEAD = Of_Device<Traits>::template lead<Device>(nullptr);
    static constexpr uint64_t COMMON = gcd(HZ, uint64_t(Traits::PRESCALER) * 1000000u);
    /// Counts per microsecond are NUMERATOR / DENOMINATOR, reduced.
    static constexpr uint32_t NUMERATOR = uint32_t(HZ / COMMON);
    static constexpr uint32_t DENOMINATOR = uint32_t(uint64_t(Traits::PRESCALER) * 1000000u / COMMON);

    static_assert(uint64_t(Traits::PRESCALER) * 1000000u / COMMON <= 0xffffffffu, "the prescaler is too large");

    /// Which interrupt of the hardware serves the alarms.
    static constexpr unsigned irq() { return Device::IRQ; }

    /// 2^r - 1: the largest number of counts in one hardware period.
    static constexpr uint64_t MAX_COUNTS = (uint64_t(1) << Device::RESOLUTION) - 1;

    /// No lock and no handler may last a quarter of the range, or a whole range could pass unseen.
    static constexpr uint64_t QUARTER = (MAX_COUNTS + 1) / 4;

    /// Lower bound of equation 1: a period of at least one count.
    static constexpr bool not_too_short(uint64_t microseconds) { return microseconds * NUMERATOR >= DENOMINATOR; }

    /// Upper bound of equation 1: a period the hardware counts alone.
    static constexpr bool in_hardware(uint64_t microseconds) {
        return microseconds * NUMERATOR <= MAX_COUNTS * DENOMINATOR;
    }

    /// Counts nearest to a length of time, known at compile time.
    static constexpr uint64_t counts(uint64_t microseconds) { return nearest(microseconds * NUMERATOR, DENOMINATOR); }

    /// Whether alarms may be further away than a quarter of the range: then their ticks take 32 bits.
    static constexpr bool FAR = counts(Traits::MAX_PERIOD) >= QUARTER;

    static_assert(not_too_short(Traits::MAX_PERIOD),
                  "MAX_PERIOD is below one count of the timer (equation 1): choose a smaller prescaler");
    static_assert(counts(Traits::MAX_PERIOD) < 0x7f000000,
                  "MAX_PERIOD is beyond 127/128 of 2^31 counts: choose a larger prescaler");

    /// Microseconds: one count, and EVENT_CYCLES of the processor.
    static constexpr uint64_t ONE_COUNT = ceiling(DENOMINATOR, NUMERATOR);
    static constexpr uint64_t ONE_EVENT = ceiling(uint64_t(Traits::EVENT_CYCLES) * 1000000u, Traits::CLOCK);
    static constexpr uint32_t SHORTEST = uint32_t(ONE_COUNT > ONE_EVENT ? ONE_COUNT : ONE_EVENT);

    /// The MAX_PERIOD trait: periods up to it must be possible; beyond equation 1 they are counted in software.
    static constexpr bool COUNTS_IN_SOFTWARE = !in_hardware(Traits::MAX_PERIOD);

    /// Counts of a length of time at run time, exact: whole counts and the rest in units of 1 / DENOMINATOR.
    static constexpr inline __attribute__((always_inline)) Split to_counts(Microsecond time) { return split<NUMERATOR, DENOMINATOR>(time); }

    /// Whether an interval is neither below what the timer and the processor can do, nor above MAX_PERIOD. (An inexact one
    /// may be rounded up to a count.)
    static constexpr inline __attribute__((always_inline)) bool in_range(Microsecond time) {
        return time >= (Traits::INEXACT ? 1 : SHORTEST) && time <= Traits::MAX_PERIOD;
    }

    /// Microseconds of a number of counts, rounded down.
    static Microsecond to_microseconds(uint32_t counts) { return split<DENOMINATOR, NUMERATOR>(counts).whole; }
};

} // namespace mcu
