/* A helper counts its entries under a lock, and then says through a pipe that it is ready.
 *
 * Wrong: the one who waits for that has taken the lock before. If the helper comes late, it waits for the lock, and nobody writes to the pipe. */
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

    pthread_mutex_lock(&lock);
    got = read(ends[0], &ready, 1); /* the helper needs the lock to come here */
    assert(got == 1);
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
