// Handlers of signals that run between the steps of a thread.

#include <pthread.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int seen;
static int number;

static void handler(int signal) {
  seen += signal;
  if (seen > 100) seen = 0;
}

static void *work(void *argument) {
  (void)argument;
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&lock);
    number += seen + 1;
    if (number & 1) number *= 2;
    pthread_mutex_unlock(&lock);
    raise(SIGUSR1);
  }
  return NULL;
}

int main(void) {
  signal(SIGUSR1, handler);
  pthread_t first, second;
  pthread_create(&first, NULL, work, NULL);
  pthread_create(&second, NULL, work, NULL);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  return number != 0 ? 0 : 99;
}
