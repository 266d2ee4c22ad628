// What `getpid` says differs from run to run, and no branch shows it.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int process, copied;

static void *work(void *unused) {
  pthread_mutex_lock(&m);
  process = getpid();
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
  copied = process;
  pthread_mutex_unlock(&m);
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, work, 0);
  pthread_create(&two, 0, work, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  pthread_mutex_lock(&m);
  assert(process == copied);
  pthread_mutex_unlock(&m);
  return 0;
}
