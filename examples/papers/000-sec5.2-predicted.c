/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, section 5.2: T2 unlocks
 * what T1 has locked.
 *
 * In the recorded order this is no double lock and no double unlock; other orders have
 * both. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused)
{
    pthread_mutex_lock(&lock);   /* first */
    pthread_mutex_lock(&lock);   /* second */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_unlock(&lock); /* unlock */
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
//? symbolic: double-lock second; unlock-not-held unlock; unlock-by-other unlock
