// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DRACE: bug: race
// --property ../tasks/valid-memory.prp -DOUTSIDE: bug
// --property ../tasks/valid-memory.prp -DLATER: bug
// -DLARGE: bug
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct part {
  int number;
  int value;
  pthread_t thread;
};
struct part *parts;
void *f(void *x) {
  struct part *own = x;
  own->value = 42;
#ifdef RACE
  parts[0].value = 1;
#endif
  return 0;
}
int *squares(int n) {
  int there[n];
  for (int i = 0; i < n; i++) {
    there[i] = i * i;
  }
  int *copy = malloc(n * sizeof(int));
  memcpy(copy, there, n * sizeof(int));
#ifdef LATER
  int *volatile gone = there;
  return gone;
#endif
  return copy;
}
int main() {
  int n = __VERIFIER_nondet_int();
#ifndef LARGE
  assume_abort_if_not(n >= 1 && n <= 2);
#endif
  parts = calloc(n, sizeof(struct part));
  for (int i = 0; i < n; i++) {
    parts[i].number = i;
    pthread_create(&parts[i].thread, 0, f, &parts[i]);
  }
  for (int i = 0; i < n; i++) {
    pthread_join(parts[i].thread, 0);
  }
  int *all = squares(n);
#ifdef OUTSIDE
  parts[n].value = 1;
#endif
#ifdef BUG
  __VERIFIER_assert(all[n - 1] == 0);
#else
  __VERIFIER_assert(parts[n - 1].value == 42 && all[n - 1] < 2);
#endif
  free(parts);
  return 0;
}
