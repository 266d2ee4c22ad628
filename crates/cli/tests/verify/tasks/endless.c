// : proved
#include "task.h"

int main(void) {
  while (1) {
  }
  __VERIFIER_assert(0);
  return 0;
}
