/* Compiled without foretrace: threads hand over to each other here, and nobody sees how. */

#include <sched.h>

static int given;

void foreign(int give) {
  if (give)
    __atomic_store_n(&given, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&given, __ATOMIC_SEQ_CST))
    sched_yield();
}
