/* Two threads count and say so. That they print orders nothing: who prints first is decided by chance.
 *
 * Wrong: the counter has no lock. */
#include <pthread.h>
#include <stdio.h>

static int counter;
static void *count(void *unused)
{
    printf("counting\n");
    counter++;
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
