/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, section 5.2: a lock is
 * unlocked twice.
 *
 * Observed: nobody holds it the second time. Predicted: T2 may hold it then. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock); /* second */
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
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
//? run: any
//? symbolic: unlock-not-held second; unlock-by-other second
