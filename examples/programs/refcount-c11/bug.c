/* Two users take a reference to an object and give it back.
 *
 * Wrong: the count is loaded and stored in two steps. If both users take their
 * reference at once, one of them is not counted, and the second one who gives his
 * back takes the count below zero. There is no data race. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int references;

static void take(void)
{
    atomic_store(&references, atomic_load(&references) + 1); /* two steps */
}

static void give_back(void)
{
    int left = atomic_load(&references) - 1;

    assert(left >= 0);
    atomic_store(&references, left);
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
