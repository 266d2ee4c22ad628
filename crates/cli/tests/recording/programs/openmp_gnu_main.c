/* Calls what gcc has compiled. */

#include "check.h"

int gnu(void);

int main(void) {
  CHECK(gnu() == 0);
  return 0;
}
