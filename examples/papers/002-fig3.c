/* Said et al., Generating Data Race Witnesses by an SMT-based Analysis, Fig. 3.
 *
 * In the recorded run T2 comes between the two critical sections of T1. Locksets warn on y. With the
 * value that T2 read there is no witness; but nothing branches on it, so that T2 may read 20
 * as well, and then there is one. */
#include <pthread.h>

static int x, y;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused)
{
    pthread_mutex_lock(&l);
    x = 10; /* x1 */
    pthread_mutex_unlock(&l);
    pthread_mutex_lock(&l);
    x = 20; /* x2 */
    pthread_mutex_unlock(&l);
    y = 30; /* y1 */
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&l);
    int seen = x; /* x3 */
    y = 20;       /* y2 */
    pthread_mutex_unlock(&l);
    (void)seen;
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
//? run: x1 x3 y2 x2 y1
//? reads-from: none
//? values: none
//? symbolic: race y y1 y2
