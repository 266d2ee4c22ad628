/* A race between threads that nobody joins. Behind the second fork `main` does nothing visible: a replay needs the threads to run
 * when it has returned. */

#include <pthread.h>

#include "check.h"

static int late;

static void *adds(void *unused) {
  late++;
  return unused;
}

int main(void) {
  for (int thread = 0; thread < 2; thread++) {
    pthread_t handle;
    CHECK(pthread_create(&handle, NULL, adds, NULL) == 0);
  }
  return 0;
}
