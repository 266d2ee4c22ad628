// An index is beyond the array for a moment. GUARDED: only while the lock is held. HEAP: the array is a block. TWO: another array has the same size.
#include <pthread.h>
#include <stdlib.h>

#define LENGTH 6
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#ifdef HEAP
static int *array;
#else
static int array[LENGTH];
#ifdef TWO
int other[LENGTH];
#endif
#endif
static volatile unsigned at;
static volatile int seen;

static void *moves(void *unused)
{
    pthread_mutex_lock(&m);
    at = LENGTH;
    at = 1;
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void)
{
#ifdef HEAP
    array = malloc(LENGTH * sizeof *array);
#endif
    for (int i = 0; i < LENGTH; i++)
        array[i] = i;
    pthread_t thread;
    pthread_create(&thread, NULL, moves, NULL);
#ifdef GUARDED
    pthread_mutex_lock(&m);
#endif
    seen = array[at];
#ifdef GUARDED
    pthread_mutex_unlock(&m);
#endif
    pthread_join(thread, NULL);
#ifdef HEAP
    free(array);
#endif
    return 0;
}
