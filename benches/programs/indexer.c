/* After the indexer example of paper 000, Table 1 (Flanagan, Godefroid, POPL 2005): threads insert four messages each into a hash table of 128 entries that
   all of them share, with compare-and-swap and linear probing. The hash is that of a text which the main thread has written. With fewer than 12 threads no two
   of them use one entry. One thread asserts that nothing has come into a particular entry: one that stays empty whatever happens, or, with ERROR, one
   that another thread fills.

   indexer [THREADS [MESSAGES]] */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { ENTRIES = 128, LENGTH = 29, MOST_THREADS = 32, MOST_MESSAGES = 4 };

#ifdef ERROR
enum { WATCHED = 26 }; /* for the second message of the first thread */
#else
enum { WATCHED = 127 };
#endif

static atomic_uint table[ENTRIES];
static unsigned char texts[MOST_THREADS][MOST_MESSAGES][LENGTH];
static unsigned threads = 10, messages = MOST_MESSAGES;

/* A text whose bytes add up to the number. */
static void write_text(unsigned char *text, unsigned number)
{
    for (unsigned at = 0; at < LENGTH; at++)
        text[at] = (unsigned char)((number + at) / LENGTH);
}

static void insert(const unsigned char *text)
{
    unsigned sum = 0, empty = 0;
    for (unsigned at = 0; at < LENGTH; at++)
        sum += text[at];

    unsigned entry = sum * 7 % ENTRIES;
    while (!atomic_compare_exchange_strong(&table[entry], &empty, sum)) {
        entry = (entry + 1) % ENTRIES;
        empty = 0;
    }
}

static void *index_messages(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument;
    if (self == threads - 1)
        assert(atomic_load(&table[WATCHED]) == 0);
    for (unsigned message = 0; message < messages; message++)
        insert(texts[self][message]);
    return NULL;
}

int main(int argument_count, char **arguments)
{
    pthread_t workers[MOST_THREADS];
    unsigned *sizes[] = { &threads, &messages };
    for (int at = 1; at < argument_count && at <= 2; at++)
        *sizes[at - 1] = (unsigned)atoi(arguments[at]);

    for (unsigned self = 0; self < threads; self++)
        for (unsigned message = 0; message < messages; message++)
            write_text(texts[self][message], (message + 1) * 11 + self);
    for (unsigned self = 0; self < threads; self++)
        pthread_create(&workers[self], NULL, index_messages, (void *)(uintptr_t)self);
    for (unsigned self = 0; self < threads; self++)
        pthread_join(workers[self], NULL);
    return 0;
}
