// The loop of a controller manager as in ros2_control, read, update and write at a rate of its own on a thread of its own, with
// the probe around it: ros2_control_loop [FILE [CYCLES]], then `jitterlab servo FILE`.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "jitterlab.hpp"

using namespace std::chrono;

// A joint of a robot, simulated: it follows commands as a motor of 20 ms does.
struct Joint {
    double position = 0, velocity = 0, command = 0;

    void read(nanoseconds period) {
        const double seconds = duration<double>(period).count();
        velocity += (command - velocity) * seconds / 0.020;
        position += velocity * seconds;
    }

    void write(double wanted) { command = wanted; }
};

// A proportional controller that follows a trajectory.
struct Controller {
    double update(nanoseconds time, double position) const {
        const double t = duration<double>(time).count();
        return 0.5 * std::cos(t) + 10.0 * (0.5 * std::sin(t) - position);
    }
};

int main(int count, char **arguments) try {
    const char *file = count > 1 ? arguments[1] : "ros2_control.parquet";
    const long cycles = count > 2 ? std::strtol(arguments[2], nullptr, 10) : 2'000;
    constexpr nanoseconds period = nanoseconds(1s) / 500; // update_rate: 500
    jitterlab::run run("name=controller_manager,period=" + std::to_string(period.count()) + "ns", file);

    Joint joint;
    std::thread manager([&] {
        jitterlab::probe probe(run, "controller_manager");
        const Controller controller;
        const auto begun = steady_clock::now();
        auto last = begun, next = begun;
        for (long cycle = 0; cycle < cycles; ++cycle) {
            next += period;
            std::this_thread::sleep_until(next);
            probe.begin(next);
            const auto now = steady_clock::now();
            joint.read(now - last);
            joint.write(controller.update(now - begun, joint.position));
            last = now;
            probe.end();
        }
    });
    manager.join();
    const auto figures = run.figures("controller_manager");
    std::printf("%llu cycles, up to %.1f us late, joint at %.3f rad\n", static_cast<unsigned long long>(figures.executed),
                1e-3 * static_cast<double>(figures.max_latency_ns), joint.position);
    run.close();
} catch (const jitterlab::error &why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 1;
}
