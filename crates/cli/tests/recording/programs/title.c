/* A server that changes the title of its process first copies its arguments and its environment elsewhere, since the title
   takes their place. Then its threads race. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

extern char **environ;

static volatile int counter;

static void *adds(void *unused) {
  counter++;
  return unused;
}

/* How many bytes behind the first argument the title may take. */
static size_t room(int count, char **arguments) {
  char *end = arguments[0];
  for (int i = 0; i < count; i++)
    if (arguments[i] == end)
      end += strlen(arguments[i]) + 1;
  for (int i = 0; environ[i]; i++)
    if (environ[i] == end)
      end += strlen(environ[i]) + 1;
  return end - arguments[0];
}

int main(int count, char **arguments) {
  size_t size = room(count, arguments);
  for (int i = 1; i < count; i++)
    arguments[i] = strdup(arguments[i]);
  for (int i = 0; environ[i]; i++)
    environ[i] = strdup(environ[i]);
  memset(arguments[0], 0, size);
  strncpy(arguments[0], "server: ready", size - 1);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, adds, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  CHECK(counter <= 2);
  return 0;
}
