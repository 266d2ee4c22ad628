/* Which of these functions of the C library does the runtime not stand before? */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++) {
    Dl_info found;
    void *function = dlsym(RTLD_DEFAULT, arguments[i]);
    if (function && dladdr(function, &found) && !strstr(found.dli_fname, "foretrace"))
      puts(arguments[i]);
  }
  return 0;
}
