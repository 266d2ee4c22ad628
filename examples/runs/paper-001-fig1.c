/* Paper 001, Fig. 1, with the input a = 1, b = 0. The first run takes the else branch of `foo` and
 * its assertion holds. Another schedule lets it fail, and a third one takes the other branch.
 * FIXED: `foo` reads `y` once. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int y;

static void *foo(void *input) {
    int a = *(int *)input;
    y = a + 1;
#ifdef FIXED
    int seen = y;
    if (seen < 2)
        return 0;
    assert(seen >= 2);
#else
    if (y < 2)
        return 0;
    assert(y >= 2);
#endif
    return 0;
}

static void *bar(void *input) {
    int b = *(int *)input;
    if (b >= 0)
        y = b + 1;
    else
        abort();
    return 0;
}

int main(void) {
    int a = 1, b = 0;
    pthread_t one, other;
    pthread_create(&one, 0, foo, &a);
    pthread_create(&other, 0, bar, &b);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
