// : proved
// -DBUG: bug
// -DNO_SECTION: bug
// -DASSUME: proved
/* Inputs, assumptions and sections of foretrace.h. It is no task: everything is asked. */
#include "foretrace.h"
#include <pthread.h>

int count, limit;

static void *add(void *unused) {
#ifndef NO_SECTION
  FORETRACE_EXCLUSIVE_BEGIN();
#endif
  int before = count;
  count = before + 1;
#ifndef NO_SECTION
  FORETRACE_EXCLUSIVE_END();
#endif
  return unused;
}

int main(void) {
  pthread_t first, second;
  limit = foretrace_input_int();
  unsigned char small = foretrace_input_uchar();
  FORETRACE_ASSERT(small < 256 && foretrace_input_bool() < 2);
  FORETRACE_ASSUME(limit > 1 || limit < -1);
  pthread_create(&first, 0, add, 0);
  pthread_create(&second, 0, add, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
#ifdef BUG
  FORETRACE_ASSERT(count < limit);
#elif defined ASSUME
  FORETRACE_ASSUME(limit == 1);
  FORETRACE_ASSERT(0);
#else
  FORETRACE_ASSERT(count == 2 && limit != 0);
#endif
  return 0;
}
