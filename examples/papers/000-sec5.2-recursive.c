/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, section 5.2: a recursive
 * lock is locked twice, as it may. */
#include <pthread.h>

static pthread_mutex_t lock;

static void *first(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_create(&t1, NULL, first, NULL);
    pthread_create(&t2, NULL, first, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
//? run: any
//? symbolic: none
