/* What a program can say of itself. The argument chooses. */

#include <pthread.h>
#include <string.h>

#include <foretrace.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int balance = 100;
static struct {
  int hits, misses;
} statistics;

static void *withdraws(void *unused) {
  int seen;
  FORETRACE_ATOMIC_BEGIN();
  pthread_mutex_lock(&locks[0]);
  seen = balance;
  pthread_mutex_unlock(&locks[0]);
  pthread_mutex_lock(&locks[0]);
  balance = seen - 10;
  pthread_mutex_unlock(&locks[0]);
  FORETRACE_ATOMIC_END();
  return unused;
}

static void *resets(void *unused) {
  pthread_mutex_lock(&locks[0]);
  balance = 100;
  pthread_mutex_unlock(&locks[0]);
  return unused;
}

static void *counts(void *unused) {
  statistics.hits++;
  return unused;
}

static void *counts_more(void *unused) {
  statistics.misses++;
  return counts(unused);
}

static void *forwards(void *unused) {
  pthread_mutex_lock(&locks[0]);
  pthread_mutex_lock(&locks[1]);
  pthread_mutex_unlock(&locks[1]);
  pthread_mutex_unlock(&locks[0]);
  return unused;
}

static void *backwards(void *unused) {
  pthread_mutex_lock(&locks[1]);
  pthread_mutex_lock(&locks[0]);
  pthread_mutex_unlock(&locks[0]);
  pthread_mutex_unlock(&locks[1]);
  return unused;
}

static void both(void *(*one)(void *), void *(*other)(void *)) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, one, NULL);
  pthread_create(&threads[1], NULL, other, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "";
  FORETRACE_NAME_LOCK(&locks[0], "the vault");
  FORETRACE_NAME_LOCK(&locks[1], "the door");
  FORETRACE_BENIGN_RACE(&statistics.hits, sizeof statistics.hits, "hits are approximate");
  balance = 100; /* What it is before is not recorded. */
  if (strcmp(what, "region") == 0)
    both(withdraws, resets);
  else if (strcmp(what, "harmless") == 0)
    both(counts, counts);
  else if (strcmp(what, "harmful") == 0)
    both(counts_more, counts_more);
  else if (strcmp(what, "locks") == 0)
    both(forwards, backwards);
  FORETRACE_ASSERT(balance == 100 || strcmp(what, "region") == 0);
  FORETRACE_ASSERT(strcmp(what, "false") != 0);
  return 0;
}
