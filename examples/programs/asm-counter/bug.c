/* Two threads count, with one instruction of the processor.
 *
 * Wrong: `incl` is one instruction, but without `lock` it is a load and a store,
 * and another thread can come between them. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static int count;

static void *count_up(void *unused)
{
    __asm__ __volatile__("incl %0" : "+m"(count) : : "memory", "cc"); /* no lock */
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
