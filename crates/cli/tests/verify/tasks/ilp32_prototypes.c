// : proved
// -DBUG: bug
// --property ../tasks/valid-memory.prp -DOUTSIDE: bug
/* A task for 32 bits declares functions of the library with a size_t of 32 bits. */
typedef unsigned int size_t;
extern void *malloc(size_t);
extern void *calloc(size_t, size_t);
extern size_t strlen(const char *);
#include "task.h"

static void *safe_malloc(size_t size) {
  void *p = malloc(size);
  if (p == 0) {
    abort();
  }
  return p;
}

int main(void) {
  int count = __VERIFIER_nondet_int();
  assume_abort_if_not(count >= 0 && count <= 3);
  int *array = safe_malloc(sizeof(int) * (size_t)count);
  for (int i = 0; i < count; i++) {
    array[i] = i;
  }
#ifdef OUTSIDE
  array[count] = 1;
#endif
  int *zeros = calloc(2, sizeof(int));
  __VERIFIER_assert(zeros[1] == 0 && strlen("four") == 4);
#ifdef BUG
  __VERIFIER_assert(count < 3 || array[2] != 2);
#else
  __VERIFIER_assert(count < 3 || array[2] == 2);
#endif
  return 0;
}
