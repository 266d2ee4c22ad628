// The state of C++'s library by which one thread hears of another, and the clock of the processor.
// The argument says which.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <ios>
#include <memory_resource>
#include <mutex>
#include <thread>
#include <x86intrin.h>

#include "check.h"

namespace {
std::mutex mutex;
int x;

// It is gone with its last reference.
struct Error {
  int value = 1;
  ~Error() { value = 0; }
};

void handle(std::exception_ptr error) {
  try {
    std::exception_ptr only = std::move(error);
    std::rethrow_exception(std::move(only));
  } catch (const Error &caught) {
    CHECK(caught.value == 1);
  }
}

void exception() {
  std::exception_ptr first = std::make_exception_ptr(Error()), second = first;
  std::thread one([error = std::move(first)]() mutable { handle(std::move(error)); });
  std::thread other([error = std::move(second)]() mutable { handle(std::move(error)); });
  one.join();
  other.join();
}

void index() {
  const int before = std::ios_base::xalloc();
  std::thread one([] {
    x = 1;
    std::ios_base::xalloc();
  });
  std::thread other([before] {
    if (std::ios_base::xalloc() != before + 1)
      printf("x is %d\n", x);
  });
  one.join();
  other.join();
}

// A block that one thread gives back is the next that another one gets.
void pool() {
  std::pmr::unsynchronized_pool_resource blocks;
  int *const block = static_cast<int *>(blocks.allocate(64));
  std::thread one([&] {
    *block = 1;
    const std::lock_guard guard(mutex);
    blocks.deallocate(block, 64);
  });
  std::thread other([&] {
    int *mine;
    {
      const std::lock_guard guard(mutex);
      mine = static_cast<int *>(blocks.allocate(64));
    }
    *mine = 2;
    if (mine == block)
      printf("x is 1\n");
  });
  one.join();
  other.join();
}

// Times under a mutex never decrease.
unsigned long last;

unsigned long stamp() {
  unsigned low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return low | static_cast<unsigned long>(high) << 32;
}

template <class Clock> void time_stamps(Clock clock) {
  const auto look = [clock] {
    const std::lock_guard guard(mutex);
    const unsigned long now = clock();
    CHECK(now >= last);
    if (now < last)
      x++;
    last = now;
  };
  std::thread one(look), other(look);
  one.join();
  other.join();
  printf("%lu\n", last);
}
} // namespace

int main(int, char **arguments) {
  if (strcmp(arguments[1], "exception") == 0)
    exception();
  else if (strcmp(arguments[1], "index") == 0)
    index();
  else if (strcmp(arguments[1], "pool") == 0)
    pool();
  else if (strcmp(arguments[1], "assembly") == 0)
    time_stamps(stamp);
  else if (strcmp(arguments[1], "time stamp") == 0)
    time_stamps([] { return __rdtsc(); });
  else
    time_stamps([] {
      unsigned processor;
      return __rdtscp(&processor);
    });
}
