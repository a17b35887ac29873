// A node as ros2_control builds one, without ROS 2 and without jitterlab: the controller manager's loop of 500 Hz, and an
// executor with a timer of 20 ms. They share a mutex, as a publisher and a parameter do, and the timer prints under it.
//
//     ros2_node [SECONDS]    then: sudo jitterlab watch -- ./ros2_node
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

using namespace std::chrono;

static std::mutex state_mutex;
static std::vector<double> state(64);
static std::atomic<bool> ends;

// The loop of a controller manager: read, update, write.
static void manage() {
    pthread_setname_np(pthread_self(), "ros2_control");
    sched_param priority{};
    priority.sched_priority = 50; // as controller_manager asks for
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    double position = 0;
    for (auto next = steady_clock::now(); !ends; next += 2ms) {
        std::this_thread::sleep_until(next);
        position += 0.002 * (std::sin(duration<double>(next.time_since_epoch()).count()) - position);
        std::lock_guard<std::mutex> lock(state_mutex);
        state[0] = position;
    }
}

// An executor: it waits for its timer or for work, as rclcpp does, and calls back.
static void spin() {
    pthread_setname_np(pthread_self(), "executor");
    std::mutex mutex;
    std::condition_variable wake;
    std::unique_lock<std::mutex> waits(mutex);
    for (auto next = steady_clock::now(); !ends; next += 20ms) {
        wake.wait_until(waits, next, [] { return ends.load(); });
        std::lock_guard<std::mutex> lock(state_mutex);
        std::string message; // a message of its own each time
        for (int round = 0; round < 200; ++round)
            for (double value : state) message = std::to_string(value) + '\n';
        std::fputs(message.c_str(), stdout);
        std::fflush(stdout);
    }
}

int main(int count, char **arguments) {
    const seconds length(count > 1 ? std::atoi(arguments[1]) : 10);
    std::thread control(manage), executor(spin);
    std::this_thread::sleep_for(length);
    ends = true;
    control.join();
    executor.join();
}
