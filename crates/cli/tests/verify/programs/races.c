/* Two threads access the same memory in many ways; each CASE races, or does not. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
int x, *heap, array[4];
volatile int steps;
atomic_int flag;
union {
  int whole;
  char bytes[4];
} word;
struct {
  int a : 3;
  int b : 5;
} bits;

static void *first(void *unused) {
#if CASE == 1 /* nothing keeps them apart: race */
  x = 1;
#elif CASE == 2 /* the same lock */
  pthread_mutex_lock(&m);
  x = 1;
  pthread_mutex_unlock(&m);
#elif CASE == 3 /* different locks: race */
  pthread_mutex_lock(&m);
  x = 1;
  pthread_mutex_unlock(&m);
#elif CASE == 4 /* volatile is not atomic: race */
  steps++;
#elif CASE == 5 /* atomic operations, of any order */
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
#elif CASE == 6 /* a flag hands the data over */
  x = 1;
  atomic_store(&flag, 1);
#elif CASE == 7 /* it does so too early: race */
  atomic_store(&flag, 1);
  x = 1;
#elif CASE == 8 /* both inside of sections */
  __VERIFIER_atomic_begin();
  x = 1;
  __VERIFIER_atomic_end();
#elif CASE == 9 /* one inside, a plain one outside: race */
  __VERIFIER_atomic_begin();
  x = 1;
  __VERIFIER_atomic_end();
#elif CASE == 10 /* the heap: race */
  *heap = 1;
#elif CASE == 11 /* other elements of an array */
  array[1] = 1;
#elif CASE == 12 /* one byte of a word: race */
  word.bytes[3] = 1;
#elif CASE == 13 /* bit-fields share their bytes: race */
  bits.a = 1;
#elif CASE == 14 /* an element that depends on data: race */
  array[atomic_load(&flag)] = 1;
#elif CASE == 15 /* two readers */
  if (x) steps = 1;
#endif
  return unused;
}

static void *second(void *unused) {
#if CASE == 1
  if (x) return 0;
#elif CASE == 2
  pthread_mutex_lock(&m);
  x = 2;
  pthread_mutex_unlock(&m);
#elif CASE == 3
  pthread_mutex_lock(&n);
  x = 2;
  pthread_mutex_unlock(&n);
#elif CASE == 4
  steps++;
#elif CASE == 5
  if (atomic_load_explicit(&flag, memory_order_acquire)) return 0;
#elif CASE == 6 || CASE == 7
  if (atomic_load(&flag)) x = 2;
#elif CASE == 8
  __VERIFIER_atomic_begin();
  x = x + 1;
  __VERIFIER_atomic_end();
#elif CASE == 9
  x = 2;
#elif CASE == 10
  *heap = 2;
#elif CASE == 11
  array[2] = 1;
#elif CASE == 12
  word.whole = 7;
#elif CASE == 13
  bits.b = 1;
#elif CASE == 14
  atomic_store(&flag, 2);
  array[2] = 1;
#elif CASE == 15
  if (x) return 0;
#endif
  return unused;
}

int main(void) {
  pthread_t a, b;
  x = 0;
  heap = malloc(sizeof *heap);
  *heap = 0;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  x = 3;
  return *heap;
}
