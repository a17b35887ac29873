// A controller at 1 kHz that records itself: controller_1khz [FILE [ACTIVATIONS]], then `jitterlab analyze FILE`.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "jitterlab.hpp"

using namespace std::chrono_literals;

int main(int count, char **arguments) try {
    const char *file = count > 1 ? arguments[1] : "controller.parquet";
    const unsigned long long activations = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 5'000;

    double position = 0, speed = 0;
    jitterlab::loop servo(1ms, file, "policy=fifo:80,compensate=margin:50us");
    for (const auto &refusal : servo.own().refusals()) std::fprintf(stderr, "not granted: %s\n", refusal.c_str());
    for (auto &activation : servo) {
        // Read sensors, compute, write outputs: here a spring that follows a sine.
        const double target = std::sin(0.001 * static_cast<double>(activation.index));
        speed += 0.001 * (100.0 * (target - position) - 20.0 * speed);
        position += 0.001 * speed;
        if (activation.index + 1 >= activations) break;
    }
    const auto figures = servo.own().figures("main");
    std::printf("%llu activations, %llu missed, up to %.1f us late\n", static_cast<unsigned long long>(figures.executed),
                static_cast<unsigned long long>(figures.missed), 1e-3 * static_cast<double>(figures.max_latency_ns));
} catch (const jitterlab::error &why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 1;
}
