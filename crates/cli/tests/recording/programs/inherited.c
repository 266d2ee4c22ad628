/* Which signals are ignored and blocked from the start: the first argument is ignored, the second blocked (0: none), and no others of the first 31. */

#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>

#include "check.h"

int main(int count, char **arguments) {
  CHECK(count == 3);
  int ignored = atoi(arguments[1]), blocked = atoi(arguments[2]);
  sigset_t mask;
  CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
  for (int which = 1; which < 32; which++) {
    struct sigaction action;
    CHECK(sigaction(which, NULL, &action) == 0);
    CHECK((action.sa_handler == SIG_IGN) == (which == ignored));
    CHECK(sigismember(&mask, which) == (which == blocked));
  }
  return 0;
}
