/* Functions of the C library that are called through pointers, as allocators often are, are no calls that nothing is known of.
   `total` has a race on both sides of which memory is allocated so. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static struct {
  void *(*allocate)(size_t);
  void (*give_back)(void *);
  char *(*duplicate)(const char *);
} functions = {malloc, free, strdup};

static int total;

static void *works(void *text) {
  char *copy = functions.allocate(4);
  strcpy(copy, text);
  total += copy[0] == 'a';
  functions.give_back(functions.duplicate(copy));
  functions.give_back(copy);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, works, "ab") == 0);
  CHECK(pthread_create(&threads[1], NULL, works, "abc") == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
