/* Two threads count, with one instruction of the processor.
 *
 * Corrected: with `lock` nobody comes between the load and the store. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static int count;

static void *count_up(void *unused)
{
    __asm__ __volatile__("lock; incl %0" : "+m"(count) : : "memory", "cc");
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count_up, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    assert(count == 2);
    printf("count %d\n", count);
    return 0;
}
