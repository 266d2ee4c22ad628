/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, Fig. 11-13.
 *
 * The assertion fails only if both threads take their first arm. Two passing runs, one with
 * the first arm of `foo` and one with that of `bar`, say so together; neither does alone. */
#include <assert.h>
#include <pthread.h>

static int x, y;

static void *foo(void *unused)
{
    int a = y;     /* t11 */
    if (a == 0) {
        x = 1;     /* t12 */
        a = x + 1; /* t13 */
        x = a;     /* t14 */
    } else
        x = 0;     /* t15 */
    return unused;
}

static void *bar(void *unused)
{
    int b = x;     /* t21 */
    if (b == 0) {
        y = 1;     /* t22 */
        b = y + 1; /* t23 */
        y = b;     /* t24 */
    } else
        y = 0;     /* t25 */
    return unused;
}

int main(void)
{
    pthread_t t1, t2;

    pthread_create(&t1, NULL, foo, NULL);
    pthread_create(&t2, NULL, bar, NULL);
    pthread_join(t2, NULL);
    pthread_join(t1, NULL);
    int last_x = x, last_y = y;
    assert(last_x != last_y); /* t5 */
    return 0;
}
//? run: t11 t12 t13 t14 t21 t25
//? symbolic, assertion: none
//? run: t21 t22 t23 t24 t11 t15
//? symbolic, assertion: none
//? merged, assertion: assertion t5
