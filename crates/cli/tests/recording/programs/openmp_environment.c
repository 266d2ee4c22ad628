/* What the environment says of OpenMP. */

#include <omp.h>
#include <stdio.h>

int main(void) {
  omp_sched_t kind;
  int chunk, threads = 0, inside = 0, levels = omp_get_max_active_levels();

  omp_get_schedule(&kind, &chunk);
#pragma omp parallel
  {
#pragma omp single
    threads = omp_get_num_threads();
#pragma omp parallel
    {
#pragma omp critical
      inside = omp_get_num_threads();
    }
  }
  printf("%d threads, %d level%s, schedule %d %d, %d inside\n", threads, levels,
         levels == 1 ? "" : "s", (int)kind, chunk, inside);
  return 0;
}
