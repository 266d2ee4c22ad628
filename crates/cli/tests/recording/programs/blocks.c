// Memory that no access names: blocks of plain numbers, a structure that is only copied, and bit
// fields that share a word.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct message {
  long from, to;
};

struct flags {
  unsigned length : 24;
  unsigned stop : 1;
};

static int *results;
static struct flags flags;
static struct message *last;

static void *work(void *argument) {
  int *count = argument;
  results[2]++;
  (*count)++;
  flags.stop = 1;
  struct message message = {1, 2};
  memcpy(last, &message, sizeof message);
  return NULL;
}

int main(void) {
  results = calloc(4, sizeof *results);
  int *count = malloc(sizeof *count);
  last = malloc(sizeof *last);
  *count = 0;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, work, count);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  free(results);
  return 0;
}
