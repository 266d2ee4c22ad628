/* One mistake each, that a schedule or an input leads to. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

extern void reach_error(void);
extern int __VERIFIER_nondet_int(void);
extern unsigned char __VERIFIER_nondet_uchar(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_assume(int);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);

_Atomic int flag;
int *_Atomic shared;
int table[5];
int divisor = 3;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *other(void *argument) {
#if defined NULL_POINTER
  shared = 0;
#elif defined FREED || defined FREED_TWICE
  free(argument);
  flag = 1;
#elif defined DIVISION
  divisor = __VERIFIER_nondet_bool() ? 0 : 2;
  flag = 1;
#elif defined INPUTS
  int mine = __VERIFIER_nondet_int();
  __VERIFIER_assume(mine > 1000 && mine % 7 == 3);
  __VERIFIER_atomic_begin();
  flag = flag + mine;
  __VERIFIER_atomic_end();
#else
  flag = 1;
#endif
  return argument;
}

int main(void) {
  pthread_t thread;
  int *block = malloc(sizeof *block);
  *block = 1;
  shared = block;
  pthread_create(&thread, 0, other, block);
#if defined NULL_POINTER
  if (shared) *shared = 2;
#elif defined FREED
  *block = 2;
#elif defined FREED_TWICE
  if (flag) free(block);
#elif defined BOUNDS
  table[flag * 4 + __VERIFIER_nondet_bool()] = 1;
#elif defined DIVISION
  if (flag) table[0] = 12 / divisor;
#elif defined QUOTIENT
  table[0] = (-2147483647 - (int)flag) / (__VERIFIER_nondet_int() | 1);
#elif defined SHIFT
  table[0] = 1 << (flag * 32);
#elif defined UNLOCK
  if (!flag) pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
#elif defined INPUTS
  unsigned char one = __VERIFIER_nondet_uchar();
  __VERIFIER_atomic_begin();
  flag = flag + one;
  __VERIFIER_atomic_end();
  pthread_join(thread, 0);
  if (one > 200 && flag > 1210 && flag < 1220) reach_error();
#endif
  return 0;
}
