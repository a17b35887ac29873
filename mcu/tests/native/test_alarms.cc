// SPDX-License-Identifier: MIT OR Apache-2.0
// Alarms under every strategy, on counters of 8, 16 and 32 bits, against the reference: with random programs, or with those
// of a fuzzer (compile with -DFUZZER and clang's -fsanitize=fuzzer).
#include "program.h"

template <unsigned BITS, class Count, uint32_t HZ, uint32_t DIVIDER, uint32_t LONGEST>
struct Common : mcu::Default_Traits {
    typedef mcu::Mock_Timer<BITS, Count> Device;
    static constexpr uint32_t CLOCK = HZ;
    static constexpr uint32_t PRESCALER = DIVIDER;
    static constexpr uint32_t MAX_PERIOD = LONGEST;
    static constexpr bool TIME_STAMPS = true;
    static constexpr bool INEXACT = true;
    static constexpr uint32_t EVENT_CYCLES = 1;
    static constexpr int64_t TICK_COUNTS = 1;
    /// Counts by which an event may be late on purpose, where the program can ask for it.
    static constexpr int64_t LENIENT = 0;
    template <class Time>
    static void poll() {}
    /// Microseconds of about three counts.
    static constexpr uint32_t SHORT = uint32_t(3000000ull * DIVIDER / HZ + 1);
    /// Counts of a long wait, and of interrupts off: a quarter of the range at most.
    static constexpr uint32_t LONG = BITS == 8 ? 2000 : 200000;
    static constexpr uint32_t LOCKED = BITS == 8 ? 40 : 2000;
};

template <class Base>
struct Anchored : Base {
    static constexpr Rule RULE = ABSOLUTE;
    template <class Traits>
    using Strategy = mcu::Anchored<Traits>;
};

/// Smart timers, or firm ones where the program asks.
template <class Base, uint32_t GRACE_US, int64_t COUNTS>
struct Firm : Anchored<Base> {
    static constexpr uint32_t GRACE = GRACE_US;
    static constexpr int64_t LENIENT = COUNTS;
    template <class Time>
    static void poll() {
        Time::poll();
    }
};

/// On a timer that what is written reaches two counts later: what is nearer than three comes in three, and each write may have to wait.
template <class Base>
struct Slow : Firm<Base, 0, 40> {
    static constexpr uint32_t SHORT = 2000;
    typedef mcu::Mock_Timer<8, uint8_t, 2> Device;
    static constexpr bool TIME_STAMPS = false;
};

template <class Base, uint32_t TICK_US, int64_t COUNTS>
struct Soft : Firm<Base, 0, COUNTS> {
    static constexpr uint32_t TICK = TICK_US;
    template <class Traits>
    using Strategy = mcu::Soft<Traits>;
};

template <class Base>
struct Shot : Base {
    static constexpr Rule RULE = RELATIVE;
    template <class Traits>
    using Strategy = mcu::Single_Shot_In_Hardware<Traits>;
};

template <class Base, uint32_t TICK_US, int64_t TICK_LENGTH>
struct Ticking : Base {
    static constexpr Rule RULE = TICKS;
    static constexpr uint32_t TICK = TICK_US;
    static constexpr uint32_t SOFTWARE_TICK = TICK_US;
    static constexpr int64_t TICK_COUNTS = TICK_LENGTH;
    static constexpr uint32_t SHORT = TICK_US;
    template <class Traits>
    using Strategy = mcu::Periodic<Traits>;
};

template <class Base>
struct Shot_In_Software : Base {
    template <class Traits>
    using Strategy = mcu::Single_Shot_In_Software<Traits>;
    static constexpr bool TIME_STAMPS = false;
};

typedef Common<8, uint8_t, 1000000, 1, 60> Byte;                    // no stations, no fraction
typedef Common<8, uint8_t, 3000000, 7, 100> Odd_Byte;               // no stations, 3/7 counts a microsecond
typedef Common<8, uint8_t, 7372800, 1024, 200000> Far_Byte;         // stations, 9/1250 counts a microsecond
typedef Common<8, uint8_t, 32768, 1, 200000> Crystal;               // stations, 512/15625
typedef Common<16, uint16_t, 7372800, 64, 100000> Word;             // the paper's fastest clock: 72/625
typedef Common<16, uint16_t, 8000000, 64, 3000000> Far_Word;        // stations, 1/8
typedef Common<32, uint32_t, 1000000, 1, 100000000> Wide;
typedef Common<8, uint8_t, 1000000, 1, 210> Full_Byte;              // nearly all of equation 1: it must hold the lateness, too

static uint64_t run_all(const uint8_t* data, size_t size) {
    uint64_t events = 0;
    const auto one = [&](auto board, unsigned read_cost) {
        Program<decltype(board)> program(Bytes(data, size), read_cost);
        program.run();
        events += program.events();
    };
    for (unsigned read_cost = 0; read_cost < 3; ++read_cost) {
        one(Anchored<Byte>(), read_cost / 2);
        one(Anchored<Odd_Byte>(), read_cost / 2);
        one(Anchored<Far_Byte>(), read_cost / 2);
        one(Anchored<Word>(), read_cost * 3);
        one(Anchored<Far_Word>(), read_cost * 3);
        one(Anchored<Wide>(), read_cost * 20);
    }
    one(Anchored<Far_Byte>(), 4); // nearly as slow as its counter's range is long
    for (unsigned read_cost = 0; read_cost < 2; ++read_cost) {
        one(Firm<Byte, 20, 20>(), read_cost);
        one(Firm<Far_Byte, 2000, 14>(), read_cost);
        one(Firm<Word, 5000, 576>(), read_cost);
        one(Firm<Far_Word, 5000, 625>(), read_cost);
        one(Firm<Wide, 100000, 100000>(), read_cost);
        one(Slow<Crystal>(), 1 + read_cost); // a write takes time, too
        one(Soft<Byte, 20, 20>(), read_cost);
        one(Soft<Far_Byte, 4000, 29>(), read_cost);
        one(Soft<Far_Word, 1000, 125>(), read_cost);
        one(Soft<Wide, 50, 50>(), read_cost);
    }
    one(Shot<Byte>(), 0);
    one(Shot<Odd_Byte>(), 0);
    one(Shot<Full_Byte>(), 0);
    one(Shot<Word>(), 0);
    one(Ticking<Byte, 10, 10>(), 0);
    one(Ticking<Far_Word, 1000, 125>(), 0);
    one(Ticking<Wide, 50, 50>(), 0);
    one(Shot_In_Software<Ticking<Far_Word, 1000, 125>>(), 0);
    return events;
}

#ifdef FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    run_all(data, size);
    return 0;
}
#else
int main(int argc, char** argv) {
    const unsigned programs = argc > 1 ? unsigned(atoi(argv[1])) : 200;
    const unsigned seed = argc > 2 ? unsigned(atoi(argv[2])) : 1;
    uint64_t events = 0;
    for (unsigned program = 0; program < programs; ++program) {
        mcu::Mock::noise = (seed + program) * 2654435761u | 1;
        std::vector<uint8_t> bytes(200 + mcu::Mock::random() % 1000);
        for (uint8_t& byte : bytes) byte = uint8_t(mcu::Mock::random() >> 11);
        events += run_all(bytes.data(), bytes.size());
    }
    printf("%u programs, %llu events\n", programs, static_cast<unsigned long long>(events));
    return events > programs ? 0 : 1;
}
#endif
