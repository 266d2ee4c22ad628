/* A writer marks a record as being changed, changes it and marks it as ready.
 * A reader looks at the mark.
 *
 * Wrong: the writer gives the lock back between its steps, so the reader can see
 * a record that is half done. The marks say that the update is meant as one step. */
#include "foretrace.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum state { READY, CHANGING };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static enum state state = READY;
static int record = 1;

static void *write_record(void *unused)
{
    FORETRACE_ATOMIC_BEGIN();
    pthread_mutex_lock(&guard);
    state = CHANGING; /* only for the eyes of the writer */
    record = 2;
    pthread_mutex_unlock(&guard);
    pthread_mutex_lock(&guard);
    state = READY; /* too late if the reader was here */
    pthread_mutex_unlock(&guard);
    FORETRACE_ATOMIC_END();
    return unused;
}

static void *read_record(void *unused)
{
    pthread_mutex_lock(&guard);
    enum state seen = state; /* may be the state in between */
    pthread_mutex_unlock(&guard);
    assert(seen == READY);
    return unused;
}

int main(void)
{
    pthread_t writer, reader;

    pthread_create(&writer, NULL, write_record, NULL);
    pthread_create(&reader, NULL, read_record, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);

    assert(record == 2);
    printf("record %d\n", record);
    return 0;
}
