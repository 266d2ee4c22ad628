// A block is freed and replaced by another one, most often at the same address, and everybody who uses it holds the lock.
#include <pthread.h>
#include <stdlib.h>

static int *current;
static int last = 4;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int seen;

static void *reads(void *unused)
{
    pthread_mutex_lock(&m);
    int *mine = current;
    seen = mine[0] + mine[last];
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void)
{
    pthread_t thread;
    current = calloc(5, sizeof *current);
    pthread_create(&thread, NULL, reads, NULL);
    // Lets the other one go first, most often.
    for (int i = 0; i < 50; i++)
        seen = i;
    pthread_mutex_lock(&m);
    free(current);
    current = calloc(6, sizeof *current);
    current[0] = 1;
    last = 5;
    pthread_mutex_unlock(&m);
    pthread_join(thread, NULL);
    free(current);
    return 0;
}
