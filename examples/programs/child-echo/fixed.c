/* A child process sends back what it gets: one thread writes to it, another one reads from it.
 *
 * The question is complete before the child is asked. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_child[2], from_child[2];
static int question;

static void *ask(void *unused)
{
    char byte = 1;
    ssize_t sent;

    question = 1;
    question = 2;
    sent = write(to_child[1], &byte, 1);
    return sent == 1 ? unused : NULL;
}

static void *listen_to(void *unused)
{
    char byte;
    ssize_t got = read(from_child[0], &byte, 1);

    printf("answer %d\n", got == 1 && question >= 0);
    return unused;
}

int main(void)
{
    pthread_t asker, listener;
    pid_t child;

    if (pipe(to_child) != 0 || pipe(from_child) != 0)
        return 1;
    child = fork();
    if (child == 0) {
        char byte;

        if (read(to_child[0], &byte, 1) == 1 && write(from_child[1], &byte, 1) == 1)
            _exit(0);
        _exit(1);
    }
    pthread_create(&asker, NULL, ask, NULL);
    pthread_create(&listener, NULL, listen_to, NULL);
    pthread_join(asker, NULL);
    pthread_join(listener, NULL);
    waitpid(child, NULL, 0);
    return 0;
}
