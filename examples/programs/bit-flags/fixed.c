/* Two subsystems report that they are ready, each with a bit of its own in one
 * byte.
 *
 * Corrected: one lock for the whole byte. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { NETWORK = 1, STORAGE = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static unsigned char ready;

static void *start_network(void *unused)
{
    pthread_mutex_lock(&guard);
    ready |= NETWORK;
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *start_storage(void *unused)
{
    pthread_mutex_lock(&guard);
    ready |= STORAGE;
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(void)
{
    pthread_t network, storage;

    pthread_create(&network, NULL, start_network, NULL);
    pthread_create(&storage, NULL, start_storage, NULL);
    pthread_join(network, NULL);
    pthread_join(storage, NULL);

    assert((ready & NETWORK) && (ready & STORAGE));
    printf("all is ready\n");
    return 0;
}
