/* Reads a line from the terminal whose foreground it has, and says it again. With an argument it waits for an interrupt from there. */

#define _GNU_SOURCE
#include <signal.h>
#include <string.h>

#include "check.h"

int main(int count, char **arguments) {
  (void)arguments;
  CHECK(isatty(0));
  CHECK(tcgetpgrp(0) == getpgrp());
  if (count > 1) {
    signal(SIGINT, SIG_IGN);
    printf("process %d is ready\n", (int)getpid());
    fflush(stdout);
    for (;;)
      pause();
  }
  char line[64];
  CHECK(fgets(line, sizeof line, stdin) != NULL);
  printf("read %s", line);
  return 0;
}
