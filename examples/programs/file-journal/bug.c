/* A writer appends to a journal; a reader that finds the entry relies on what the writer did before.
 *
 * Wrong: the state changes once more behind the entry. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int journal;
static int state;

static void *append(void *unused)
{
    char entry = 'x';
    ssize_t written;

    state = 1;
    written = write(journal, &entry, 1);
    state = 2; /* the reader may have found the entry */
    return written == 1 ? unused : NULL;
}

static void *replay(void *unused)
{
    char entry;

    if (pread(journal, &entry, 1, 0) == 1 && state < 0)
        printf("state is wrong\n");
    return unused;
}

int main(void)
{
    pthread_t writer, reader;

    journal = memfd_create("journal", 0);
    pthread_create(&writer, NULL, append, NULL);
    pthread_create(&reader, NULL, replay, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    printf("state %d\n", state > 0 ? 1 : 0);
    return 0;
}
