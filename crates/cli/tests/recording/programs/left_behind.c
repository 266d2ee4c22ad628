/*
 * A child leaves a file behind, and another thread that finds it knows that what was done before
 * the child was started is done: there is no race. Nor is there one if who finds a file empty must
 * have come before the child that writes to it (unwritten).
 */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int prepared, empty;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way, *file;

static void *prepare(void *unused)
{
    char command[4200];
    char *words[] = {"sh", "-c", command, NULL};
    int status;
    pid_t child;

    snprintf(command, sizeof command, "echo done > '%s'", file);
    prepared = 1;
    if (!strcmp(way, "system")) {
        CHECK(system(command) == 0);
        return unused;
    }
    if (!strcmp(way, "spawn")) {
        CHECK(posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0);
    } else if ((child = fork()) == 0) {
        execvp("sh", words);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return unused;
}

static void *look(void *unused)
{
    while (access(file, F_OK) != 0)
        usleep(1000);
    CHECK(prepared == 1);
    return unused;
}

static void *write_to_it(void *unused)
{
    char command[4200];

    snprintf(command, sizeof command, "echo done > '%s'", file);
    pthread_mutex_lock(&lock);
    CHECK(system(command) == 0);
    pthread_mutex_unlock(&lock);
    prepared = 2;
    return unused;
}

static void *read_from_it(void *unused)
{
    char byte;

    pthread_mutex_lock(&lock);
    if (pread(empty, &byte, 1, 0) == 0)
        prepared = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **arguments)
{
    void *(*first)(void *) = prepare, *(*second)(void *) = look;
    pthread_t threads[2];

    CHECK(count == 3);
    way = arguments[1];
    file = arguments[2];
    unlink(file);
    if (!strcmp(way, "unwritten")) {
        CHECK((empty = open(file, O_RDONLY | O_CREAT, 0600)) >= 0);
        first = read_from_it;
        second = write_to_it;
    }
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    unlink(file);
    return 0;
}
