/* Uses a library: linked, or with an argument, loaded while it runs. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

static int (*call)(void), (*peek)(void);

#ifdef LINKED
int library_count(void);
int library_peek(void);
#endif

static void *uses(void *unused) {
  for (int i = 0; i < 3; i++)
    call();
  return unused;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  void *library = NULL;
#ifdef LINKED
  (void)count, (void)arguments;
  call = library_count, peek = library_peek;
#else
  CHECK(count > 1);
  library = dlopen(arguments[1], RTLD_NOW);
  CHECK(library != NULL);
  call = (int (*)(void))dlsym(library, "library_count");
  peek = (int (*)(void))dlsym(library, "library_peek");
#endif
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, uses, NULL);
  CHECK(peek() <= 6);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  CHECK(call() == 7);
  if (library)
    dlclose(library);
  return 0;
}
