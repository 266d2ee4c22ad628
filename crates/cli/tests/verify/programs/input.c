/* Conventions of verification tasks: inputs, assumptions, atomic functions. */
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int);
extern void __VERIFIER_error(void);
extern void abort(void);

int balance;

static void __VERIFIER_atomic_add(int amount) {
  int now = balance;
  balance = now + amount;
}

static void *deposit(void *amount) {
#ifdef BUG
  balance = balance + *(int *)amount;
#else
  __VERIFIER_atomic_add(*(int *)amount);
#endif
  return 0;
}

int main(int argc, char **argv) {
  int amount = __VERIFIER_nondet_int();
  __VERIFIER_assume(amount > 0 && amount < 1000);
  if (argc < 1) abort();
  pthread_t first, second;
  pthread_create(&first, 0, deposit, &amount);
  pthread_create(&second, 0, deposit, &amount);
  pthread_join(first, 0);
  pthread_join(second, 0);
  if (balance != 2 * amount) __VERIFIER_error();
  return 0;
}
