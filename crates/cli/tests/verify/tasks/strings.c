// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
char buf[16];
struct s {
  int a[4];
} g, h;
void *f(void *x) {
  strcpy(buf, "hello");
  memset(&g, 0, sizeof g);
  g.a[2] = 4;
  memcpy(&h, &g, sizeof g);
  printf("%d\n", h.a[2]);
  puts("x");
  sleep(1);
  usleep(10);
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  __VERIFIER_assert(buf[0] == 'h' && buf[5] == 0);
#ifdef BUG
  __VERIFIER_assert(h.a[2] == 0);
#else
  __VERIFIER_assert(h.a[2] == 4 && strlen(buf) == 5 && strcmp(buf, "hello") == 0);
#endif
  return 0;
}
