// Objects that come to life once, or once in each thread; exceptions.

#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

static std::mutex lock;
static std::once_flag flag;
static int made, attempts, begun, ended, caught;

struct Made {
  int value;
  Made() : value(++made) {}
};

static Made &the_one() {
  static Made made_once;
  return made_once;
}

struct Fussy {
  Fussy() {
    if (++attempts < 3)
      throw std::runtime_error("not yet");
  }
};

struct Own {
  Own() {
    std::lock_guard hold(lock);
    begun++;
  }
  ~Own() {
    std::lock_guard hold(lock);
    ended++;
  }
};
static thread_local Own own;

static void works(int number) {
  (void)&own;
  CHECK(the_one().value == 1);
  for (;;)
    try {
      static Fussy fussy;
      break;
    } catch (const std::runtime_error &) {
    }
  try {
    std::call_once(flag, [] {
      if (++caught < 2)
        throw std::logic_error("again");
    });
  } catch (const std::logic_error &) {
    std::call_once(flag, [] { ++caught; });
  }
  try {
    std::lock_guard hold(lock);
    if (number % 2)
      throw number;
  } catch (int thrown) {
    CHECK(thrown == number);
    std::lock_guard hold(lock); // Unwinding gave it back.
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back(works, i);
  for (auto &thread : threads)
    thread.join();
  CHECK(made == 1 && attempts == 3 && caught == 2);
  CHECK(begun == 4 && ended == 4);
  return 0;
}
