/* OpenMP: regions, loops of every schedule, blocks, reductions, locks, and what omp.h says of them. */

#include <omp.h>

#include "check.h"

enum { THREADS = 3, COUNT = 23 };

static int copy = 5;
#pragma omp threadprivate(copy)

/* Each iteration was run once. */
static void all_once(int *counts) {
  for (int i = 0; i < COUNT; i++) {
    CHECK(counts[i] == 1);
    counts[i] = 0;
  }
}

static void loops(void) {
  int counts[COUNT] = {0}, last = -1;
  long sum = 0;

#pragma omp parallel for num_threads(THREADS) lastprivate(last)
  for (int i = 0; i < COUNT; i++) {
    counts[i]++;
    last = i;
  }
  CHECK(last == COUNT - 1);
  all_once(counts);
#pragma omp parallel for num_threads(THREADS) schedule(static, 2)
  for (int i = COUNT - 1; i >= 0; i--)
    counts[i]++;
  all_once(counts);
#pragma omp parallel for num_threads(THREADS) schedule(dynamic) reduction(+ : sum)
  for (long i = 0; i < COUNT; i++) {
    counts[i]++;
    sum += i;
  }
  CHECK(sum == COUNT * (COUNT - 1) / 2);
  all_once(counts);
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 4)
  for (unsigned long i = 0; i < COUNT; i++)
    counts[i]++;
  all_once(counts);
  last = -1;
#pragma omp parallel for num_threads(THREADS) schedule(guided) lastprivate(last)
  for (unsigned i = 0; i < COUNT; i += 1) {
    counts[i]++;
    last = (int)i;
  }
  CHECK(last == COUNT - 1);
  all_once(counts);
  for (int kind = omp_sched_static; kind <= omp_sched_auto; kind++) {
    omp_sched_t had;
    int chunk;
    omp_set_schedule((omp_sched_t)kind, 3);
    omp_get_schedule(&had, &chunk);
    CHECK(had == (omp_sched_t)kind || kind == omp_sched_auto);
#pragma omp parallel for num_threads(THREADS) schedule(runtime)
    for (int i = COUNT - 1; i >= 0; i -= 1)
      counts[i]++;
    all_once(counts);
  }
#pragma omp parallel for num_threads(THREADS) collapse(2) schedule(dynamic, 2)
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 5; j++)
      counts[i * 5 + j]++;
  for (int i = 20; i < COUNT; i++)
    counts[i]++;
  all_once(counts);
  /* No iterations at all, and fewer than threads. */
  for (int some = 0; some < 3; some++) {
#pragma omp parallel for num_threads(THREADS)
    for (int i = 0; i < some; i++)
      counts[i]++;
#pragma omp parallel for num_threads(THREADS) schedule(dynamic)
    for (int i = some; i < COUNT; i++)
      counts[i]++;
    all_once(counts);
  }
}

static void ordered(void) {
  int next = 0, skipped = 0;

#pragma omp parallel num_threads(THREADS)
  {
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < COUNT; i++) {
#pragma omp ordered
      CHECK(next++ == i);
    }
#pragma omp for ordered schedule(static, 2)
    for (int i = 0; i < COUNT; i++) {
      if (i % 3 == 0) {
#pragma omp ordered
        {
          CHECK(skipped == i);
          skipped += 3;
        }
      }
    }
  }
  CHECK(next == COUNT && skipped == 24);
}

static void blocks(void) {
  int singles = 0, masters = 0, masked = 0, sections = 0, inside = 0, got = 0;

#pragma omp parallel num_threads(THREADS)
  {
    int told = 0;
    CHECK(omp_get_num_threads() == THREADS && omp_in_parallel());
#pragma omp single
    singles++;
#pragma omp single copyprivate(told)
    told = 42;
    CHECK(told == 42);
#pragma omp master
    masters++;
#pragma omp masked filter(2)
    masked += omp_get_thread_num();
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp atomic
        sections += 1;
      }
#pragma omp section
      {
#pragma omp atomic
        sections += 10;
      }
    }
#pragma omp critical(named)
    {
      inside++;
      CHECK(inside == 1);
      inside--;
    }
    int seen;
#pragma omp atomic capture
    seen = got++;
    CHECK(seen < THREADS);
#pragma omp barrier
#pragma omp flush
    CHECK(singles == 1 && masters == 1 && masked == 2 && sections == 11);
  }
  CHECK(got == THREADS);
}

static void regions(void) {
  int outer = 0, inner = 0, alone = 0;

  CHECK(!omp_in_parallel() && omp_get_level() == 0 && omp_get_thread_num() == 0);
#pragma omp parallel num_threads(2) reduction(+ : outer, inner)
  {
    outer++;
#pragma omp parallel num_threads(2) reduction(+ : inner)
    {
      CHECK(omp_get_level() == 2 && omp_get_active_level() == 1 && omp_get_num_threads() == 1);
      inner++;
    }
  }
  CHECK(outer == 2 && inner == 2);
  inner = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    int number = omp_get_thread_num();
#pragma omp parallel num_threads(2)
    {
      CHECK(omp_get_active_level() == 2 && omp_get_ancestor_thread_num(1) == number);
      CHECK(omp_get_team_size(1) == 2 && omp_get_team_size(2) == 2 && omp_get_team_size(3) == -1);
#pragma omp atomic
      inner++;
    }
  }
  omp_set_max_active_levels(1);
  CHECK(inner == 4);
#pragma omp parallel if (outer > 2)
  {
    CHECK(omp_get_num_threads() == 1);
    alone++;
  }
  CHECK(alone == 1);
  omp_set_num_threads(2);
  CHECK(omp_get_max_threads() == 2);
#pragma omp parallel
  {
#pragma omp atomic
    alone++;
  }
  CHECK(alone == 3);
}

/* More variables than registers. */
static void many(void) {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9;
  long sum = 0;

#pragma omp parallel num_threads(2) firstprivate(a, b, c, d, e, f, g, h, i) reduction(+ : sum)
  sum += a + b + c + d + e + f + g + h + i++;
  CHECK(sum == 90 && i == 9);
}

static void copies(void) {
  copy = 7;
#pragma omp parallel num_threads(THREADS)
  {
    CHECK(copy == (omp_get_thread_num() == 0 ? 7 : 5));
    copy = 10 + omp_get_thread_num();
  }
  /* They are there in the next region. */
#pragma omp parallel num_threads(THREADS)
  CHECK(copy == 10 + omp_get_thread_num());
  copy = 20;
#pragma omp parallel num_threads(THREADS) copyin(copy)
  CHECK(copy == 20);
  /* Threads of inner regions have others. */
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(THREADS)
  {
    copy = 30 + omp_get_thread_num();
#pragma omp barrier
#pragma omp master
    {
#pragma omp parallel num_threads(THREADS)
      {
        CHECK(copy == (omp_get_thread_num() == 0 ? 30 : 5));
        copy = 40;
      }
      CHECK(copy == 40);
    }
#pragma omp barrier
    CHECK(copy == (omp_get_thread_num() == 0 ? 40 : 30 + omp_get_thread_num()));
  }
  omp_set_max_active_levels(1);
}

static void locks(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest;
  int inside = 0, depth = 0;

  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(THREADS)
  {
    omp_set_lock(&lock);
    CHECK(inside++ == 0);
    inside--;
    omp_unset_lock(&lock);
    if (omp_test_lock(&lock)) {
      CHECK(inside++ == 0);
      inside--;
      omp_unset_lock(&lock);
    }
    omp_set_nest_lock(&nest);
    CHECK(omp_test_nest_lock(&nest) == 2);
    CHECK(depth++ == 0);
    depth--;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
}

int main(void) {
  double start = omp_get_wtime();

  loops();
  ordered();
  blocks();
  regions();
  many();
  copies();
  locks();
  CHECK(omp_get_wtime() >= start && omp_get_wtick() > 0);
  return 0;
}
