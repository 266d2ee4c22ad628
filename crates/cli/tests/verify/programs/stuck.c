/* Threads wait for each other; each CASE may be stuck for ever, or not. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
sem_t s;
int ready;
atomic_int flag;

static void *first(void *unused) {
#if CASE == 1 || CASE == 2 /* locks in opposite orders: stuck; in the same one */
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&n);
  pthread_mutex_unlock(&n);
  pthread_mutex_unlock(&m);
#elif CASE == 3 || CASE == 4 /* a wait without, and with, a look at what it waits for */
  pthread_mutex_lock(&m);
#if CASE == 4
  while (!ready)
#endif
    pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
#elif CASE == 5 || CASE == 6 /* one token too few, and enough */
  sem_wait(&s);
#if CASE == 6
  sem_post(&s);
#endif
#elif CASE == 7 /* a lock that is never given back */
  pthread_mutex_lock(&m);
#elif CASE == 8 /* a failed assumption is no deadlock */
  pthread_mutex_lock(&m);
  __VERIFIER_assume(flag == 2);
  pthread_mutex_unlock(&m);
#elif CASE == 9 /* nobody goes on while a thread is blocked inside of a section */
  __VERIFIER_atomic_begin();
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  __VERIFIER_atomic_end();
#elif CASE == 10 /* a thread that spins is not blocked */
  while (flag == 0)
    ;
#elif CASE == 11 /* one signal for two waits */
  pthread_mutex_lock(&m);
  ready++;
  pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
#endif
  return unused;
}

static void *second(void *unused) {
#if CASE == 1
  pthread_mutex_lock(&n);
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  pthread_mutex_unlock(&n);
#elif CASE == 2
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&n);
  pthread_mutex_unlock(&n);
  pthread_mutex_unlock(&m);
#elif CASE == 3 || CASE == 4
  pthread_mutex_lock(&m);
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
#elif CASE == 5
  sem_wait(&s);
#elif CASE == 6
  sem_wait(&s);
  sem_post(&s);
#elif CASE == 7 || CASE == 8 || CASE == 9
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
#elif CASE == 11
  pthread_mutex_lock(&m);
  ready++;
  pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
#endif
  return unused;
}

int main(void) {
  pthread_t a, b;
  sem_init(&s, 0, 1);
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
#if CASE == 11
  pthread_mutex_lock(&m);
  if (ready == 2) pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
#endif
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
