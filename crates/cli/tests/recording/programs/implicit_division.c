// A mean is taken while the other thread starts to count anew. GUARDED: both have the lock.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int sum = 12, count = 3, mean;

static void *starts_anew(void *unused)
{
    pthread_mutex_lock(&m);
    count = 0;
    sum = 20;
    count = 5;
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, starts_anew, NULL);
#ifdef GUARDED
    pthread_mutex_lock(&m);
#endif
    mean = sum / count;
#ifdef GUARDED
    pthread_mutex_unlock(&m);
#endif
    pthread_join(thread, NULL);
    return 0;
}
