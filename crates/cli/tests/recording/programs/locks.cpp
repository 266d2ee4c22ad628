// The locks and condition variables of C++.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "check.h"

using namespace std::chrono_literals;

static std::mutex a, b;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::shared_mutex shared;
static std::shared_timed_mutex shared_timed;
static std::condition_variable changed;
static std::condition_variable_any any;
static int left, right, cache, stage;

static void transfer(int amount) {
  for (int i = 0; i < 5; i++) {
    std::scoped_lock both(a, b);
    left -= amount;
    right += amount;
  }
}

int main() {
  std::thread first(transfer, 1), second(transfer, 2);
  {
    std::jthread third([](std::stop_token token) {
      while (!token.stop_requested())
        std::this_thread::yield();
    });
    third.request_stop();
  }
  first.join();
  second.join();
  CHECK(left == -15 && right == 15);

  recursive.lock();
  CHECK(recursive.try_lock());
  std::thread([] { CHECK(!recursive.try_lock()); }).join();
  recursive.unlock();
  recursive.unlock();

  timed.lock();
  shared_timed.lock_shared();
  std::thread([] {
    CHECK(!timed.try_lock_for(1ms));
    CHECK(!timed.try_lock_until(std::chrono::system_clock::now() + 1ms));
    CHECK(!shared_timed.try_lock_for(1ms));
    CHECK(shared_timed.try_lock_shared_for(1000s));
    shared_timed.unlock_shared();
  }).join();
  timed.unlock();
  shared_timed.unlock_shared();

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([i] {
      if (i % 2) {
        std::unique_lock hold(shared);
        cache++;
      } else {
        std::shared_lock hold(shared);
        CHECK(cache <= 2);
      }
    });
  for (auto &thread : threads)
    thread.join();

  {
    std::unique_lock hold(a);
    CHECK(changed.wait_for(hold, 1ms) == std::cv_status::timeout);
    CHECK(!changed.wait_for(hold, 1ms, [] { return stage == 1; }));
    CHECK(!changed.wait_until(hold, std::chrono::steady_clock::now(), [] { return false; }));
    std::thread other([] {
      std::lock_guard hold(a);
      stage = 1;
      changed.notify_one();
    });
    CHECK(changed.wait_for(hold, 1000s, [] { return stage == 1; }));
    hold.unlock();
    other.join();
  }
  {
    std::shared_lock hold(shared);
    std::thread other([] {
      std::unique_lock hold(shared);
      stage = 2;
      any.notify_all();
    });
    any.wait(hold, [] { return stage == 2; });
    hold.unlock();
    other.join();
  }
  return 0;
}
