/* A program of these tests ends with status 0 if all that it checks holds, else with 99. */

#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      _exit(99);                                                               \
    }                                                                          \
  } while (0)

#endif
