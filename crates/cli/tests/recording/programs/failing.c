/* A thread that fails if it sees what the other one writes. The first letter of the argument says how. */

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include <foretrace.h>

static int shared;
static int *block;

static void *looks(void *argument) {
  long way = (long)argument;
  int seen = shared;
  /* The block's memory comes to life: an event that is no operation. */
  int *mine = malloc(sizeof *mine);
  if (way == 'a') {
    assert(seen == 0);
  } else if (way == 'F') {
    FORETRACE_ASSERT(seen == 0);
  } else if (seen != 0) {
    if (way == 'A') {
      abort();
    }
    if (way == 't') {
      __builtin_trap();
    }
    if (way == 'd') {
      __builtin_debugtrap();
    }
  }
  *mine = 1;
  block = mine;
  return 0;
}

int main(int count, char **arguments) {
  pthread_t thread;
  /* All ways are the same up to where they fail. */
  pthread_create(&thread, 0, looks, (void *)(long)arguments[count - 1][0]);
  shared = 1;
  pthread_join(thread, 0);
  *block = 2;
  free(block);
  return 0;
}
