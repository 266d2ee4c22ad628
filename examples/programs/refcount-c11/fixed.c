/* Two users take a reference to an object and give it back.
 *
 * Corrected: every change of the count is one read-modify-write. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int references;

static void take(void)
{
    atomic_fetch_add(&references, 1);
}

static void give_back(void)
{
    int left = atomic_fetch_sub(&references, 1) - 1;

    assert(left >= 0);
}

static void *use(void *unused)
{
    take();
    give_back();
    return unused;
}

int main(void)
{
    pthread_t users[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&users[i], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(users[i], NULL);

    printf("%d references\n", atomic_load(&references));
    return 0;
}
