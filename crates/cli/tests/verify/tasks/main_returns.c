// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int x;
void *f(void *a) {
  x = 1;
#ifdef BUG
  reach_error();
#endif
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  return 0;
}
