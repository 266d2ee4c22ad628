/* Yang and Sakallah, Trace-Driven Verification of Multithreaded Programs, Fig. 1, with a = 1
 * and b = 0.
 *
 * In the recorded run `foo` comes first. The assertion fails if line 7 comes between lines 2
 * and 5. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static int y;

static void complex_a(void) {}
static void complex_b(void) {}

static void *foo(void *input)
{
    int a = (int)(intptr_t)input;

    y = a + 1;          /* 1 */
    if (y < 2)          /* 2 */
        complex_a();    /* 3 */
    else
        assert(y >= 2); /* 5 */
    return NULL;
}

static void *bar(void *input)
{
    int b = (int)(intptr_t)input;

    if (b >= 0)         /* 6 */
        y = b + 1;      /* 7 */
    else
        complex_b();    /* 9 */
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;

    pthread_create(&t1, NULL, foo, (void *)1);
    pthread_create(&t2, NULL, bar, (void *)0);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
//? run: 1 2 5 7
//? reads-from: assertion 5; race y 1 7; race y 2 7; race y 5 7
//? values: assertion 5; race y 1 7; race y 2 7; race y 5 7
//? symbolic: assertion 5; race y 1 7; race y 2 7; race y 5 7
//? symbolic, 2 switches: none
//? symbolic, 3 switches: assertion 5; race y 1 7; race y 2 7; race y 5 7
