/* Threads of C11. */

#include <stdlib.h>
#include <threads.h>
#include <time.h>

#include "check.h"

static mtx_t lock, recursive;
static cnd_t changed;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t slot;
static _Thread_local int own;
static int made, stage, destroyed;

static void make(void) { made++; }

static void destroy(void *value) {
  mtx_lock(&lock);
  destroyed++;
  mtx_unlock(&lock);
  free(value);
}

static int follows(void *argument) {
  call_once(&flag, make);
  CHECK(tss_set(slot, malloc(4)) == thrd_success && tss_get(slot) != NULL);
  own = *(int *)argument;
  CHECK(mtx_lock(&lock) == thrd_success);
  while (stage != *(int *)argument)
    CHECK(cnd_wait(&changed, &lock) == thrd_success);
  stage++;
  CHECK(cnd_broadcast(&changed) == thrd_success);
  CHECK(mtx_unlock(&lock) == thrd_success);
  CHECK(own == *(int *)argument);
  if (own == 1)
    thrd_exit(41);
  return 40 + own;
}

static int finds_it_taken(void *unused) {
  struct timespec soon;
  (void)unused;
  CHECK(mtx_trylock(&recursive) == thrd_busy);
  timespec_get(&soon, TIME_UTC);
  soon.tv_sec += soon.tv_nsec > 990000000;
  soon.tv_nsec = (soon.tv_nsec + 3000000) % 1000000000;
  CHECK(mtx_timedlock(&recursive, &soon) == thrd_timedout);
  return 0;
}

static int posts(void *unused) {
  (void)unused;
  mtx_lock(&lock);
  stage = -1;
  cnd_signal(&changed);
  mtx_unlock(&lock);
  return 0;
}

int main(void) {
  thrd_t threads[3];
  int numbers[3] = {2, 1, 0}, result;
  struct timespec soon, pause = {0, 1000};
  CHECK(mtx_init(&lock, mtx_plain) == thrd_success && cnd_init(&changed) == thrd_success);
  CHECK(mtx_init(&recursive, mtx_timed | mtx_recursive) == thrd_success);
  CHECK(tss_create(&slot, destroy) == thrd_success);
  CHECK(mtx_lock(&recursive) == thrd_success && mtx_trylock(&recursive) == thrd_success);
  CHECK(thrd_create(&threads[0], finds_it_taken, NULL) == thrd_success);
  CHECK(thrd_join(threads[0], NULL) == thrd_success);
  CHECK(mtx_unlock(&recursive) == thrd_success && mtx_unlock(&recursive) == thrd_success);
  for (int i = 0; i < 3; i++)
    CHECK(thrd_create(&threads[i], follows, &numbers[i]) == thrd_success);
  thrd_yield();
  CHECK(thrd_sleep(&pause, NULL) == 0);
  for (int i = 0; i < 3; i++)
    CHECK(thrd_join(threads[i], &result) == thrd_success && result == 40 + numbers[i]);
  CHECK(made == 1 && stage == 3 && destroyed == 3);

  mtx_lock(&lock);
  timespec_get(&soon, TIME_UTC);
  CHECK(cnd_timedwait(&changed, &lock, &soon) == thrd_timedout);
  CHECK(thrd_create(&threads[0], posts, NULL) == thrd_success && thrd_detach(threads[0]) == thrd_success);
  soon.tv_sec += 1000;
  while (stage != -1)
    CHECK(cnd_timedwait(&changed, &lock, &soon) == thrd_success);
  mtx_unlock(&lock);
  mtx_destroy(&recursive);
  tss_delete(slot);
  return 0;
}
