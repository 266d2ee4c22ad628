// --property ../tasks/valid-memory.prp -DCASE=0: proved
// --property ../tasks/valid-memory.prp -DCASE=1: bug
// --property ../tasks/valid-memory.prp -DCASE=2: bug
// --property ../tasks/valid-memory.prp -DCASE=3: bug
// --property ../tasks/valid-memory.prp -DCASE=4: bug
// --property ../tasks/valid-memory.prp -DCASE=5: bug
/* Accesses outside of a local variable that everybody sees, though the compiler may drop them. */
#include "task.h"
#include <string.h>

struct pair {
  int first, second;
};

int main(void) {
  int array[4] = {0}, large[8] = {0};
  struct pair pair = {1, 2}, *pointer = &pair;
#if CASE == 0
  array[3] = 1;
  memcpy(array, large, sizeof array);
  pointer->second = 3;
#elif CASE == 1
  array[4] = 1;
#elif CASE == 2
  return array[-1];
#elif CASE == 3
  memset(array, 0, 17);
#elif CASE == 4
  memcpy(array, large, sizeof large);
#elif CASE == 5
  pointer[1].first = 1;
#endif
  return array[0] + pair.second;
}
