/* What cannot be recorded rightly: a robust mutex; a semaphore shared with a child process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int robust(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    return pthread_mutex_init(&mutex, &attributes);
}

static int shared(int forks)
{
    sem_t *semaphore = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    sem_init(semaphore, 1, forks ? 0 : 1);
    if (forks && fork() == 0) {
        sem_post(semaphore);
        _exit(0);
    }
    sem_wait(semaphore);
    return forks ? wait(NULL) < 0 : 0;
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "robust") == 0)
        return robust();
    return shared(count > 1 && strcmp(arguments[1], "forks") == 0);
}
