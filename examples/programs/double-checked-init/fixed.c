/* A configuration that the first thread to need it creates.
 *
 * Corrected: the pointer is atomic, so the unlocked look synchronises with the
 * store of the pointer. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
    int limit;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct config *) config;
static int seen[2];

static struct config *get_config(void)
{
    if (!config) {
        pthread_mutex_lock(&guard);
        if (!config) {
            struct config *fresh = malloc(sizeof *fresh);
            fresh->limit = 7;
            config = fresh;
        }
        pthread_mutex_unlock(&guard);
    }
    return config;
}

static void *use(void *place)
{
    *(int *)place = get_config()->limit;
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, use, &seen[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    assert(seen[0] == 7 && seen[1] == 7);
    printf("limit %d and %d\n", seen[0], seen[1]);
    free(config);
    return 0;
}
