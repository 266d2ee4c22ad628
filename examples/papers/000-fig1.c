/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, Fig. 1-4.
 *
 * In the recorded run T1 ends before T2 begins. The assertion fails if T2 comes
 * between t4 and t5; t11 then reads 2 and not the recorded 1, but goes the same way. */
#include <assert.h>
#include <pthread.h>

static int x, y;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused)
{
    int a = x;                /* t1 */
    pthread_mutex_lock(&l);   /* t2 */
    x = 2 + a;                /* t3 */
    pthread_mutex_unlock(&l); /* t4 */
    y = 1 + a;                /* t5 */
    pthread_mutex_lock(&l);   /* t6 */
    x = 1 + a;                /* t7 */
    pthread_mutex_unlock(&l); /* t8 */
    return unused;
}

static void *second(void *unused)
{
    int b = 0;                /* t9 */
    pthread_mutex_lock(&l);   /* t10 */
    if (x > b)                /* t11 */
        assert(y == 1);       /* t12 */
    pthread_mutex_unlock(&l); /* t13 */
    return unused;
}

int main(void)
{
    pthread_t t1, t2;

    pthread_create(&t1, NULL, first, NULL);
    pthread_create(&t2, NULL, second, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
//? run: t1 t3 t5 t7 t11 t12
//? reads-from: none
//? values: none
//? symbolic: assertion t12; race y t5 t12
//? symbolic, 1 switch: none
//? symbolic, 2 switches: assertion t12
