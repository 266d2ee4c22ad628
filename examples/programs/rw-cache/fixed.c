/* A cache behind a reader-writer lock, with a counter of hits.
 *
 * Corrected: the counter, which readers write, is atomic. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ENTRIES = 4 };

static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static int entries[ENTRIES] = {10, 11, 12, 13};
static atomic_int hits;

static int lookup(int key)
{
    pthread_rwlock_rdlock(&guard);
    int value = entries[key];
    hits++;
    pthread_rwlock_unlock(&guard);
    return value;
}

static void update(int key, int value)
{
    pthread_rwlock_wrlock(&guard);
    entries[key] = value;
    pthread_rwlock_unlock(&guard);
}

static void *client(void *arg)
{
    int *found = arg;

    *found = lookup(1);
    return NULL;
}

int main(void)
{
    pthread_t clients[2];
    int found[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&clients[i], NULL, client, &found[i]);
    update(3, 30);
    for (int i = 0; i < 2; i++)
        pthread_join(clients[i], NULL);

    assert(found[0] == 11 && found[1] == 11);
    assert(entries[3] == 30);
    assert(hits == 2);
    printf("%d hits\n", hits);
    return 0;
}
