// --property ../tasks/unreach-call.prp -DUNUSED: bug
// --property ../tasks/unreach-call.prp: proved
// --property ../tasks/unreach-call.prp -DERROR: bug
// : bug
#include <assert.h>
#include <pthread.h>

/* A failed assertion is no call of the function that the property names. */
extern int __VERIFIER_nondet_int(void);
#ifndef UNUSED
void reach_error(void) {
  assert(0);
}
#endif
int x;
void *worker(void *arg) {
  x = __VERIFIER_nondet_int();
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
  assert(x != 3);
#ifndef UNUSED
#ifdef ERROR
  if (x == 4) {
    reach_error();
  }
#endif
  if (x == 3) {
    reach_error();
  }
#endif
  return 0;
}
