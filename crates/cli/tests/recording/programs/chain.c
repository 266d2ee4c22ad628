/* A process that copies itself again and again, each copy ending when it has its own. */

#include <sys/select.h>

#include "check.h"

int main(void) {
  pid_t child = fork();
  CHECK(child >= 0);
  while (child == 0) {
    child = fork();
    if (child > 0)
      _exit(0);
  }
  struct timeval pause = {.tv_usec = 100000};
  select(0, NULL, NULL, NULL, &pause);
  return 0;
}
