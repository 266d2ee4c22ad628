/* Compiled by gcc: the names of GNU's runtime. */

#include <omp.h>
#include <stdlib.h>

enum { COUNT = 37 };

static int counts[COUNT];

static int once(void) {
  int all = 1;
  for (int i = 0; i < COUNT; i++) {
    all = all && counts[i] == 1;
    counts[i] = 0;
  }
  return all;
}

int gnu(void) {
  int sum = 0, told = 0, sections = 0, inside = 0, failed = 0, singles = 0;

#pragma omp parallel num_threads(3) reduction(+ : failed)
  failed += omp_get_num_threads() != 3 || omp_get_thread_num() > 2;
#pragma omp parallel for num_threads(3) schedule(dynamic, 2)
  for (int i = 0; i < COUNT; i++)
    counts[i]++;
  failed += !once();
#pragma omp parallel for num_threads(3) schedule(guided) reduction(+ : sum)
  for (unsigned long i = COUNT; i > 0; i--) {
    counts[i - 1]++;
    sum += (int)i;
  }
  failed += !once() || sum != COUNT * (COUNT + 1) / 2;
#pragma omp parallel for num_threads(3) schedule(runtime)
  for (int i = COUNT - 1; i >= 0; i--)
    counts[i]++;
  failed += !once();
#pragma omp parallel num_threads(3) firstprivate(told)
  {
#pragma omp for schedule(static, 3) nowait
    for (int i = 0; i < COUNT; i++)
      counts[i]++;
#pragma omp single
    singles++;
#pragma omp single copyprivate(told)
    told = 9;
    if (told != 9)
      abort();
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp critical
        sections += 1;
      }
#pragma omp section
      {
#pragma omp critical
        sections += 10;
      }
#pragma omp section
      {
#pragma omp critical
        sections += 100;
      }
    }
#pragma omp critical(named)
    if (inside++ != 0)
      abort();
    else
      inside--;
#pragma omp barrier
  }
  failed += !once() || sections != 111 || singles != 1;
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    counts[0]++;
#pragma omp section
    counts[1]++;
  }
  failed += counts[0] != 1 || counts[1] != 1;
  return failed;
}
