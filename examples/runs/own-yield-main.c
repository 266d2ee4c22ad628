/* Calls a function that has the name of one of the C library, but is that of own-yield.c. */
#include <assert.h>

extern int yielded;
int sched_yield(void);

int main(void) {
    sched_yield();
#ifdef WRONG
    assert(yielded == 0);
#else
    assert(yielded == 1);
#endif
    return 0;
}
