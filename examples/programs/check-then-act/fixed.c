/* A map whose operations are each locked. A client asks whether a key is there
 * and then gets its value, while another thread erases the key.
 *
 * Corrected: the get itself says whether the key was there, and nobody asks
 * before. The marks say that the client means this as one step. */
#include "foretrace.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { KEYS = 4, KEY = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int present[KEYS] = {1, 1, 1, 1};
static int values[KEYS] = {5, 6, 7, 8};

static int map_get(int key, int *value)
{
    pthread_mutex_lock(&guard);
    int has = present[key];
    *value = values[key];
    pthread_mutex_unlock(&guard);
    return has;
}

static void *map_erase(void *unused)
{
    pthread_mutex_lock(&guard);
    present[KEY] = 0;
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *client(void *unused)
{
    FORETRACE_ATOMIC_BEGIN();
    int value;
    if (map_get(KEY, &value))
        assert(value == 7);
    FORETRACE_ATOMIC_END();
    return unused;
}

int main(void)
{
    pthread_t asker, eraser;

    pthread_create(&asker, NULL, client, NULL);
    pthread_create(&eraser, NULL, map_erase, NULL);
    pthread_join(asker, NULL);
    pthread_join(eraser, NULL);

    assert(!present[KEY]);
    printf("erased\n");
    return 0;
}
