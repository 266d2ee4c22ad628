// Futures: the library waits in the kernel by itself, where nobody sees it.

#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "check.h"

using namespace std::chrono_literals;

int main() {
  std::future<int> sum = std::async(std::launch::async, [] { return 40 + 2; });
  std::future<int> lazy = std::async(std::launch::deferred, [] { return 7; });
  CHECK(sum.get() == 42 && lazy.get() == 7);

  std::promise<int> promise;
  std::future<int> promised = promise.get_future();
  CHECK(promised.wait_for(1ms) == std::future_status::timeout);
  std::thread keeps([&promise] { promise.set_value(5); });
  CHECK(promised.get() == 5);
  keeps.join();

  std::future<int> fails = std::async(std::launch::async, []() -> int { throw std::runtime_error("no"); });
  try {
    fails.get();
    CHECK(false);
  } catch (const std::runtime_error &error) {
    CHECK(error.what()[0] == 'n');
  }

  std::packaged_task<int(int)> task([](int x) { return x * 2; });
  std::future<int> doubled = task.get_future();
  std::thread runs(std::move(task), 21);
  CHECK(doubled.get() == 42);
  runs.join();
  return 0;
}
