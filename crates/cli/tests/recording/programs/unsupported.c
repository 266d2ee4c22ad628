/* What cannot be recorded rightly: things to synchronise with that are shared with a child process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *shared_memory(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Makes one, and says whether the program forks. */
static int make(const char *what)
{
    void *memory = shared_memory();

    if (strcmp(what, "mutex") == 0) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(memory, &attributes);
    } else if (strcmp(what, "condition") == 0) {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_cond_init(memory, &attributes);
    } else if (strcmp(what, "lock") == 0) {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_rwlock_init(memory, &attributes);
    } else if (strcmp(what, "barrier") == 0) {
        pthread_barrierattr_t attributes;
        pthread_barrierattr_init(&attributes);
        pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(memory, &attributes, 2);
    } else {
        sem_init(memory, 1, 1);
        sem_wait(memory);
        return strcmp(what, "alone") != 0;
    }
    return 1;
}

int main(int count, char **arguments)
{
    if (count > 1 && make(arguments[1])) {
        if (fork() == 0)
            _exit(0);
        return wait(NULL) < 0;
    }
    return 0;
}
