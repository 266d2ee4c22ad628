/* Explicit tasks of OpenMP: children, groups, loops, dependences, and on which threads they run. */

#include <omp.h>

#include "check.h"

enum { THREADS = 3, COUNT = 17 };

static int fibonacci(int n) {
  int left = 0, right = 0;

  if (n < 2)
    return n;
#pragma omp task shared(left) final(n <= 2)
  left = fibonacci(n - 1);
#pragma omp task shared(right) if (n > 3)
  right = fibonacci(n - 2);
#pragma omp taskwait
  return left + right;
}

static void children(void) {
  int result = 0, got[4] = {0};

#pragma omp parallel num_threads(THREADS)
#pragma omp single
  {
    result = fibonacci(5);
    for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
      got[i] = i + 10;
    }
  }
  CHECK(result == 5);
  for (int i = 0; i < 4; i++)
    CHECK(got[i] == i + 10);
}

/* The end of a group waits for what is below its tasks, too; a barrier for everything. */
static void groups(void) {
  int below = 0, later = 0;

#pragma omp parallel num_threads(THREADS)
  {
#pragma omp single nowait
    {
#pragma omp taskgroup
      {
#pragma omp task shared(below)
        {
#pragma omp task shared(below)
          below = 1;
        }
      }
      CHECK(below == 1);
#pragma omp task shared(later)
      {
#pragma omp task shared(later)
        later = 1;
      }
    }
#pragma omp barrier
    CHECK(later == 1);
  }
}

static void loops(void) {
  int counts[COUNT] = {0}, last = -1, offset = 0;

#pragma omp parallel num_threads(THREADS)
#pragma omp single
  {
#pragma omp taskloop grainsize(4) lastprivate(last) firstprivate(offset)
    for (int i = 0; i < COUNT; i++) {
      counts[i + offset]++;
      last = i;
    }
    CHECK(last == COUNT - 1);
#pragma omp taskloop num_tasks(3) nogroup
    for (int i = COUNT - 1; i >= 0; i -= 2)
      counts[i]++;
#pragma omp taskwait
#pragma omp taskloop
    for (int i = COUNT; i < COUNT; i++)
      counts[i]++;
  }
  for (int i = 0; i < COUNT; i++)
    CHECK(counts[i] == 1 + (i % 2 == 0));
}

static void dependences(void) {
  int a = 0, b = 0, c = 0;

#pragma omp parallel num_threads(THREADS)
#pragma omp single
  {
#pragma omp task shared(a) depend(out : a)
    a = 2;
#pragma omp task shared(a, b) depend(in : a) depend(out : b)
    b = a + 3;
#pragma omp task shared(a, c) depend(in : a) depend(out : c)
    c = a * 10;
#pragma omp task shared(a, b, c) depend(in : b, c) depend(inout : a)
    a += b + c;
#pragma omp task shared(a) depend(in : a) if (0)
    CHECK(a == 27);
  }
  CHECK(a == 27 && b == 5 && c == 20);
}

/* Each thread has a place of its own: tasks on one thread do not overlap. */
static void places(void) {
  int used[THREADS] = {0}, sum = 0;

#pragma omp parallel num_threads(THREADS)
  {
    used[omp_get_thread_num()]++;
#pragma omp barrier
#pragma omp single
    for (int i = 0; i < 6; i++) {
#pragma omp task
      {
        CHECK(omp_get_num_threads() == THREADS && omp_get_thread_num() < THREADS);
        used[omp_get_thread_num()]++;
#pragma omp task
        used[omp_get_thread_num()]++;
      }
      if (i == 3) {
#pragma omp taskwait
      }
#pragma omp taskyield
    }
    used[omp_get_thread_num()]++;
  }
  for (int i = 0; i < THREADS; i++)
    sum += used[i];
  CHECK(sum == 2 * THREADS + 12);
}

/* Where there is one thread, a task runs at once. */
static void alone(void) {
  int done = 0;

#pragma omp task shared(done)
  done++;
#pragma omp taskwait
  CHECK(done == 1 && !omp_in_final());
#pragma omp task shared(done) final(1)
  done += omp_in_final();
#pragma omp taskgroup
  {
#pragma omp taskloop shared(done)
    for (int i = 0; i < 3; i++) {
#pragma omp atomic
      done++;
    }
  }
#pragma omp taskwait
  CHECK(done == 5);
}

int main(void) {
  children();
  groups();
  loops();
  dependences();
  places();
  alone();
  return 0;
}
