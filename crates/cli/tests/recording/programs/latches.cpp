// Locks that are made of atomics: a flag, an exchange, a compare-exchange. BUG: something is done after one of them is given back.

#include <atomic>
#include <cstdlib>
#include <thread>

#include "check.h"

static std::atomic_flag flag = ATOMIC_FLAG_INIT;
static std::atomic<bool> busy;
static std::atomic<int> owner;
static int flagged, exchanged, owned;

static void work(int me, int rounds) {
  for (int round = 0; round < rounds; round++) {
    while (flag.test_and_set())
      ;
    flagged++;
    flag.clear();
    while (busy.exchange(true))
      ;
    exchanged += 2;
    busy = false;
#ifdef BUG
    exchanged++;
#endif
    int nobody = 0;
    while (!owner.compare_exchange_strong(nobody, me))
      nobody = 0;
    owned++;
    owner = 0;
  }
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? std::atoi(arguments[1]) : 1;
  std::thread a(work, 1, rounds), b(work, 2, rounds), c(work, 3, rounds);
  a.join();
  b.join();
  c.join();
  CHECK(flagged == 3 * rounds && owned == 3 * rounds);
}
