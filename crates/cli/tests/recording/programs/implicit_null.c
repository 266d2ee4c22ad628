// A pointer is taken away while another thread uses it: without the lock, or, with GUARDED, never.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int number = 7;
static int *volatile current = &number;
static volatile int seen;

static void *takes_away(void *unused)
{
    pthread_mutex_lock(&m);
    current = NULL;
    current = &number;
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, takes_away, NULL);
#ifdef GUARDED
    pthread_mutex_lock(&m);
#endif
    seen = *current;
#ifdef GUARDED
    pthread_mutex_unlock(&m);
#endif
    pthread_join(thread, NULL);
    return 0;
}
