// What the C++ library does with threads.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

struct Counter {
  std::mutex mutex;
  int guarded = 0;
  std::atomic<int> atomic{0};

  void add(int n) {
    std::lock_guard<std::mutex> guard(mutex);
    guarded += n;
    atomic.fetch_add(n, std::memory_order_relaxed);
  }
};

int main() {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&counter, i] {
      for (int k = 0; k < 50; k++)
        counter.add(i);
    });
  for (auto &thread : threads)
    thread.join();
  std::printf("%d %d\n", counter.guarded, counter.atomic.load());

  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::thread waiter([&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready; });
  });
  {
    std::lock_guard lock(mutex);
    ready = true;
  }
  changed.notify_all();
  waiter.join();

  std::atomic<double> real{1.5};
  double expected = 1;
  bool succeeded = real.compare_exchange_strong(expected, 9);
  std::printf("%d %g %d\n", std::async(std::launch::async, [] { return 6 * 7; }).get(), expected, succeeded);
}
