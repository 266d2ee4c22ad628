/* Directives of OpenMP that cannot be recorded yet. */

#include <stdio.h>

int main(void) {
  int done[4] = {0}, sum = 0;

#pragma omp parallel num_threads(2)
  {
#ifdef REDUCED
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    {
#pragma omp task in_reduction(+ : sum)
      sum++;
    }
#endif
#ifdef CANCEL
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 4; i++) {
      sum++;
#pragma omp cancel for
    }
#endif
#ifdef SINK
#pragma omp for ordered(1)
    for (int i = 1; i < 4; i++) {
#pragma omp ordered depend(sink : i - 1)
      done[i] = done[i - 1] + 1;
#pragma omp ordered depend(source)
    }
#endif
  }
  printf("%d\n", done[0] + sum);
  return 0;
}
