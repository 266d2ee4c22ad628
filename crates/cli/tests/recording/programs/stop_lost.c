// The worker frees what main hands to it, so Foretrace looks for uses after that. `stop` is set
// without the lock: the last signal may come before the wait.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct line {
  int text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct line *first;
static int stop;

static void *work(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!first && !stop)
      pthread_cond_wait(&more, &lock);
    struct line *line = first;
    if (!line)
      break;
    first = NULL;
    pthread_mutex_unlock(&lock);
    line->text++;
    free(line);
    pthread_mutex_lock(&lock);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t worker;
  pthread_create(&worker, NULL, work, NULL);
  struct line *line = malloc(sizeof *line);
  line->text = 1;
  pthread_mutex_lock(&lock);
  first = line;
  line->text = 2;
  pthread_cond_signal(&more);
  pthread_mutex_unlock(&lock);
  // The worker comes to its second wait meanwhile.
  for (int turn = 0; turn < 100; turn++)
    sched_yield();
  stop = 1;
  pthread_cond_signal(&more);
  pthread_join(worker, NULL);
  return 0;
}
