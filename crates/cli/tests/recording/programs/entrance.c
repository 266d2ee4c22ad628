// Each thread enters if the other one is not in: both enter only if both look first. In a run in which one of them is first, only one of
// them touches `inside`, and which one depends on the run.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int in[2], inside;

static void *enter(void *own) {
  int me = *(int *)own;
  pthread_mutex_lock(&m);
  int other = in[1 - me];
#ifndef TWIN
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
#endif
  if (other == 0)
    in[me] = 1;
  pthread_mutex_unlock(&m);
  if (other == 0)
    inside++;
  return 0;
}

int main(void) {
  static int numbers[2] = {0, 1};
  pthread_t one, two;
  pthread_create(&one, 0, enter, &numbers[0]);
  pthread_create(&two, 0, enter, &numbers[1]);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
