/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, section 5.2: a lock is
 * locked twice.
 *
 * The depth of a lock is its thread's own matter: this is in every run, which hangs there. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock); /* second */
    return unused;
}

int main(void)
{
    pthread_t t1;

    pthread_create(&t1, NULL, first, NULL);
    pthread_join(t1, NULL);
    return 0;
}
//? run: hangs
//? symbolic: double-lock second
