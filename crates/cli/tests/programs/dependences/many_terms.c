/* Between the store that a library reads and that call the thread computes so much that the walk forgets terms. */
#include "harness.h"
char buf[16];
long sum;
void *o2(void *a) { pthread_mutex_lock(&m); buf[1] = 0; sum = 0; pthread_mutex_unlock(&m); return a; }
int main(void) {
  pthread_t t2;
  pthread_create(&t2, 0, o2, 0);
  int r = begin();
  pthread_mutex_lock(&m);
  for (int i = 0; i < 4000; i++) sum += x * i;
  buf[0] = '0' + r;
  buf[1] = 0;
  for (int i = 0; i < 9000; i++) sum += x * i;
  int y = atoi(buf);
  pthread_mutex_unlock(&m);
  CHECK(y == r);
  finish();
  pthread_join(t2, 0);
}
