/* Paper 001, Fig. 4: recursion that creates a thread in each call. THREADS counts all of them. The
 * assertion fails if a thread has finished before `foo` looks at `y`. FIXED: nobody lowers `y`. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef THREADS
#define THREADS 5
#endif

static atomic_int x = 1, y = 1;

static void *bar(void *unused) {
    (void)unused;
    y = 1;
    if (y > 0) {
        x = x - y;
#ifndef FIXED
        y = y - 1;
#endif
    } else {
        return 0;
    }
    return 0;
}

static void foo(int a) {
    pthread_t thread;
    pthread_create(&thread, 0, bar, 0);
    x = a;
    if (x > 0 && a > 0) {
        foo(a - 1);
    } else if (y <= 1 && y != 0) {
        x = y - x;
    } else if (y > 10) {
        abort();
    } else {
        x = x - y;
        assert(0);
    }
    pthread_join(thread, 0);
}

int main(void) {
    foo(THREADS - 2);
    return 0;
}
