/* Two threads of the program's own, each with regions and copies of its own. */

#include <omp.h>
#include <pthread.h>

#include "check.h"

enum { THREADS = 3 };

static int copy = 5;
#pragma omp threadprivate(copy)
static int sums[2];

static void *works(void *argument) {
  int which = *(int *)argument, sum = 0;

  CHECK(copy == 5 && !omp_in_parallel());
  copy = 50 + which;
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
  {
    CHECK(copy == (omp_get_thread_num() == 0 ? 50 + which : 5));
    copy = 60 + which;
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 6; i++)
      sum += i;
  }
#pragma omp parallel num_threads(THREADS)
  CHECK(copy == 60 + which);
  sums[which] = sum;
  return argument;
}

int main(void) {
  pthread_t threads[2];
  int numbers[2] = {0, 1};

  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, works, &numbers[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  CHECK(copy == 5 && sums[0] == 15 && sums[1] == 15);
  return 0;
}
