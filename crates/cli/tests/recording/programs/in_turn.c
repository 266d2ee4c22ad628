/* Two readers of one pipe, of which the first one comes first in the recorded run.
 *
 * kept: the second byte is written by the first reader, with the lock that both need. If the second reader comes first it gets the first byte: nobody hangs.
 * empty: the second byte is written by somebody who needs the lock that the second reader has.
 * hung: nobody writes a second byte. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
static int ends[2];

static void put(void)
{
    char byte = 1;

    (void)!write(ends[1], &byte, 1);
}

static void get(void)
{
    char byte;

    (void)!read(ends[0], &byte, 1);
}

static void *first(void *unused)
{
    pthread_mutex_lock(&lock);
    get();
    if (strcmp(way, "kept") == 0)
        put();
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&lock);
    get();
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *third(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    put();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[3];
    int last = 0;

    way = count > 1 ? arguments[1] : "kept";
    if (pipe(ends) != 0)
        return 1;
    put();
    pthread_create(&threads[last++], NULL, first, NULL);
    usleep(2000);
    if (strcmp(way, "empty") == 0) {
        pthread_create(&threads[last++], NULL, third, NULL);
        usleep(2000);
    }
    pthread_create(&threads[last++], NULL, second, NULL);
    while (last > 0)
        pthread_join(threads[--last], NULL);
    return 0;
}
