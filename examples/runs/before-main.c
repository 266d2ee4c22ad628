/* A function that runs before `main`: what variables hold then is not what they held at first. */
#include <assert.h>

static int ready;

__attribute__((constructor)) static void prepare(void) { ready = 1; }

int main(void) {
#ifdef WRONG
    assert(ready == 0);
#else
    assert(ready == 1);
#endif
    return 0;
}
