/* What a region is called with, and bounds that depend on what was read. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static int total, limit = 2;

int main(void) {
  long step = atol("5");
  int sum = 0;

#pragma omp parallel num_threads(2) firstprivate(step) reduction(+ : sum)
  {
    int seen;
#pragma omp critical
    seen = total;
    /* The other thread may add its step here. */
#pragma omp critical
    total = seen + (int)step;
#pragma omp for
    for (int i = 0; i < limit; i++)
      sum++;
#pragma omp critical
    limit = 2;
  }
  assert(total == 10);
  printf("%d %d\n", total, sum);
  return 0;
}
