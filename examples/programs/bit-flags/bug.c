/* Two subsystems report that they are ready, each with a bit of its own in one
 * byte.
 *
 * Wrong: each bit has a lock of its own, but to set a bit is to write the whole
 * byte, so that one of two reports at once is lost. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { NETWORK = 1, STORAGE = 2 };

static pthread_mutex_t network_guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t storage_guard = PTHREAD_MUTEX_INITIALIZER;
static unsigned char ready;

static void *start_network(void *unused)
{
    pthread_mutex_lock(&network_guard);
    ready |= NETWORK; /* reads and writes the bit of the other one too */
    pthread_mutex_unlock(&network_guard);
    return unused;
}

static void *start_storage(void *unused)
{
    pthread_mutex_lock(&storage_guard);
    ready |= STORAGE;
    pthread_mutex_unlock(&storage_guard);
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
