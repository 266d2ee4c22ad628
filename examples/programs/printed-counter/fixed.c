/* Two threads count and say so. That they print orders nothing: who prints first is decided by chance.
 *
 * The counter has a lock. */
#include <pthread.h>
#include <stdio.h>

static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *count(void *unused)
{
    printf("counting\n");
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    printf("counted\n");
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("done %d\n", counter > 0);
    return 0;
}
