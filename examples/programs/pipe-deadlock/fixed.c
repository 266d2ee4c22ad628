/* A helper counts its entries under a lock, and then says through a pipe that it is ready.
 *
 * Right: who waits for that takes the lock afterwards. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static int entries;

static void *help(void *unused)
{
    char ready = 1;
    ssize_t sent;

    pthread_mutex_lock(&lock);
    entries += 3;
    pthread_mutex_unlock(&lock);
    sent = write(ends[1], &ready, 1);
    assert(sent == 1);
    return unused;
}

static void *use(void *unused)
{
    char ready;
    ssize_t got;

    got = read(ends[0], &ready, 1);
    assert(got == 1);
    pthread_mutex_lock(&lock);
    printf("entries %d\n", entries);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t helper, user;

    if (pipe(ends) != 0)
        return 1;
    pthread_create(&helper, NULL, help, NULL);
    pthread_create(&user, NULL, use, NULL);
    pthread_join(helper, NULL);
    pthread_join(user, NULL);
    return 0;
}
