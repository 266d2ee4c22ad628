/* A spin lock of assembly, as headers of operating systems have it: `cmpxchg` in a
 * loop takes it, a plain `mov` gives it back, `pause` waits.
 *
 * Wrong: the second of the two totals is added to when the lock is back. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static int lock;
static int totals[2];

static int try_lock(void)
{
    int seen = 0;

    __asm__ __volatile__("lock; cmpxchgl %2, %1"
                         : "+a"(seen), "+m"(lock)
                         : "r"(1)
                         : "memory", "cc");
    return seen == 0;
}

static void unlock(void)
{
    __asm__ __volatile__("movl $0, %0" : "=m"(lock) : : "memory");
}

static void *add(void *amount)
{
    while (!try_lock())
        __asm__ __volatile__("pause" : : : "memory");
    totals[0] += *(int *)amount;
    unlock();
    totals[1] += *(int *)amount; /* too late */
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int amounts[2] = {10, 20};

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, &amounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    assert(totals[0] == 30);
    assert(totals[1] == 30);
    printf("totals %d %d\n", totals[0], totals[1]);
    return 0;
}
