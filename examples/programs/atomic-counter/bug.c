/* Two threads count on an atomic variable.
 *
 * Wrong: the load is atomic and the store is atomic, but the two together are
 * not. There is no data race, and yet a count can be lost. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int count;

static void *count_up(void *unused)
{
    atomic_store(&count, atomic_load(&count) + 1); /* two steps */
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count_up, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    assert(atomic_load(&count) == 2);
    printf("count %d\n", atomic_load(&count));
    return 0;
}
