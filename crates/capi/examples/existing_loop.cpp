// A loop that existed before, with the probe around its work: existing_loop [FILE [ACTIVATIONS]].
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "jitterlab.hpp"

using namespace std::chrono_literals;

int main(int count, char **arguments) try {
    const long activations = count > 2 ? std::strtol(arguments[2], nullptr, 10) : 5'000;
    jitterlab::probe probe(1ms, count > 1 ? arguments[1] : "existing.parquet");

    volatile double work = 0;
    auto next = std::chrono::steady_clock::now() + 1ms;
    for (long k = 0; k < activations; ++k) {
        std::this_thread::sleep_until(next);
        probe.begin(next);
        for (int i = 0; i < 1'000; ++i) work = work + 0.5;
        probe.end();
        next += 1ms;
    }
} catch (const jitterlab::error &why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 1;
}
