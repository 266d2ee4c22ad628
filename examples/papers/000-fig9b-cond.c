/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, Fig. 9 (b) and 10,
 * with a condition variable. T2 waits first: a signal before the wait is lost in POSIX.
 *
 * Not violable, whatever is left out of the data: t5 comes after the wake, and that
 * after t3. But if the signal is lost, T2 waits for ever. */
#include "foretrace.h"
#include <pthread.h>

static int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void *first(void *unused)
{
    int a;

    FORETRACE_ATOMIC_BEGIN();
    x = 1;     /* t1 */
    a = x + 1; /* t2 */
    FORETRACE_ATOMIC_END();
    (void)a;
    pthread_mutex_lock(&m);
    pthread_cond_signal(&c); /* t3 */
    pthread_mutex_unlock(&m);
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m); /* t4 */
    pthread_mutex_unlock(&m);
    x = 3; /* t5 */
    return unused;
}

int main(void)
{
    pthread_t t1, t2;

    pthread_create(&t2, NULL, second, NULL);
    pthread_create(&t1, NULL, first, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
//? run: t1 t2 t5
//? values: stuck t4
//? symbolic: stuck t4
//? control: stuck t4
