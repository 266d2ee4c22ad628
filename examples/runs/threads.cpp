// Threads of C++ in a vector, with lambdas that capture by value, and what they print. WRONG forgets
// the lock.
#include <cassert>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static int sum;

int main() {
    std::vector<std::thread> threads;
    for (int number = 1; number <= 3; number++) {
        threads.emplace_back([number] {
#ifndef WRONG
            std::lock_guard<std::mutex> guard(lock);
#endif
            sum += number;
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    std::cout << "the sum is " << sum << std::endl;
    assert(sum == 6);
}
