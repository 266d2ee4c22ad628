// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int num;
pthread_mutex_t m;
pthread_cond_t empty, full;
void *prod(void *a) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&m);
#ifdef BUG
    if
#else
    while
#endif
        (num > 0)
      pthread_cond_wait(&empty, &m);
    num++;
    pthread_mutex_unlock(&m);
    pthread_cond_signal(&full);
  }
  return 0;
}
void *cons(void *a) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&m);
    while (num == 0) pthread_cond_wait(&full, &m);
    __VERIFIER_assert(num <= 1);
    num--;
    pthread_mutex_unlock(&m);
    pthread_cond_signal(&empty);
  }
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_mutex_init(&m, 0);
  pthread_cond_init(&empty, 0);
  pthread_cond_init(&full, 0);
  pthread_create(&a, 0, prod, 0);
  pthread_create(&b, 0, cons, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_mutex_destroy(&m);
  pthread_cond_destroy(&empty);
  pthread_cond_destroy(&full);
  return 0;
}
