// As Fig. 11 of paper 000, with a structure on the stack of the main thread, a semaphore and an attempt. With TWIN the two steps of `work` are one.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

struct shared {
  pthread_mutex_t m;
  sem_t s;
  int a, b;
};

static void *work(void *argument) {
  struct shared *s = argument;
  sem_wait(&s->s);
  int a = s->a;
#ifndef TWIN
  sem_post(&s->s);
#endif
  if (a < 1) {
#ifndef TWIN
    sem_wait(&s->s);
#endif
    s->a++;
    if (pthread_mutex_trylock(&s->m) == 0) {
      s->b++;
      pthread_mutex_unlock(&s->m);
    }
#ifndef TWIN
    sem_post(&s->s);
#endif
  }
#ifdef TWIN
  sem_post(&s->s);
#endif
  return 0;
}

int main(void) {
  struct shared s = {.a = 0, .b = 0};
  pthread_mutex_init(&s.m, 0);
  sem_init(&s.s, 0, 1);
  pthread_t one, two;
  pthread_create(&one, 0, work, &s);
  pthread_create(&two, 0, work, &s);
  pthread_join(one, 0);
  pthread_join(two, 0);
  assert(s.a < 2);
  return 0;
}
