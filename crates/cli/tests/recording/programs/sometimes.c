/* Has a race if the second thread comes first. With an argument, the program also leaves a file of
 * that name behind, and counts its runs in it. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turn, shared;

static void *work(void *number) {
  pthread_mutex_lock(&lock);
  int mine = turn++;
  pthread_mutex_unlock(&lock);
  if ((mine == 0) == ((long)number == 2))
    shared++;
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t first, second;
  pthread_create(&first, NULL, work, (void *)1);
  pthread_create(&second, NULL, work, (void *)2);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  if (count > 1) {
    FILE *file = fopen(arguments[1], "a");
    fputs("run\n", file);
    fclose(file);
  }
  puts("done");
  return 0;
}
