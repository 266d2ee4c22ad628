// Atomics of all sizes and operations.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "check.h"

template <typename T> static std::atomic<T> cell;

template <typename T> static void operations() {
  std::atomic<T> &x = cell<T>;
  T expected = 1;
  x.store(1, std::memory_order_release);
  CHECK(x.load(std::memory_order_acquire) == 1);
  CHECK(x.exchange(5) == 1 && x.fetch_add(3) == 5 && x.fetch_sub(2, std::memory_order_relaxed) == 8);
  CHECK(x.fetch_and(3) == 6 && x.fetch_or(8) == 2 && x.fetch_xor(1) == 10 && x == 11);
  CHECK(!x.compare_exchange_strong(expected, 2) && expected == 11);
  while (!x.compare_exchange_weak(expected, 12))
    ;
  CHECK(++x == 13 && x-- == 13 && (x += 4) == 16);
  x = static_cast<T>(-1);
  CHECK(x.fetch_add(1) == static_cast<T>(-1) && x == 0);
}

struct Pair {
  std::uint64_t a, b;
};
static std::atomic<Pair> pair; // 16 bytes: a call of the library, or one instruction
static std::atomic<double> real;
static std::atomic<int *> pointer;
static std::atomic_flag spin = ATOMIC_FLAG_INIT;
static std::atomic<int> gate, counter, ready;
static int data, guarded;

int main() {
  operations<std::uint8_t>();
  operations<std::int16_t>();
  operations<std::uint32_t>();
  operations<std::int64_t>();
  std::atomic<bool> flag{false};
  CHECK(!flag.exchange(true) && flag);
  pair.store({1, 2});
  CHECK(pair.load().b == 2);
  real = 1.5;
  real.fetch_add(2.0);
  CHECK(real == 3.5);
  int array[4] = {};
  pointer = array;
  CHECK(pointer.fetch_add(2) == array && pointer == array + 2);

  // A CAS loop loses nothing; a flag is a lock; release and acquire publish.
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([] {
      for (int round = 0; round < 10; round++) {
        int old = counter.load(std::memory_order_relaxed);
        while (!counter.compare_exchange_weak(old, old + 1))
          ;
        while (spin.test_and_set(std::memory_order_acquire))
          std::this_thread::yield();
        guarded++;
        spin.clear(std::memory_order_release);
      }
    });
  for (auto &thread : threads)
    thread.join();
  CHECK(counter == 30 && guarded == 30);

  std::thread publishes([] {
    data = 42;
    std::atomic_thread_fence(std::memory_order_release);
    ready.store(1, std::memory_order_relaxed);
    gate.store(1);
    gate.notify_all(); // A wait of C++20 sleeps in the kernel, where nobody sees it.
  });
  gate.wait(0);
  CHECK(gate == 1);
  while (!ready.load(std::memory_order_acquire))
    ;
  CHECK(data == 42);
  publishes.join();
  return 0;
}
