// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

#include <stdio.h>
void log_msg(const char *fmt, ...) {}
int x;
void *f(void *a) {
  log_msg("%d", 3);
  x = 1;
printk:
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  log_msg("hi %s", "there");
  pthread_join(t, 0);
  fprintf(stderr, "x");
#ifdef BUG
  __VERIFIER_assert(x == 0);
#else
  __VERIFIER_assert(x == 1);
#endif
  return 0;
}
