/* A mailbox: the sender puts a letter in and rings an eventfd, the receiver waits for that with epoll.
 *
 * All letters are counted before the bell rings. */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int bell, waiting;
static int letters;

static void *send_letter(void *unused)
{
    letters = 1;
    letters++;
    eventfd_write(bell, 1);
    return unused;
}

static void *receive(void *unused)
{
    struct epoll_event event;
    eventfd_t rings;

    while (epoll_wait(waiting, &event, 1, -1) < 1)
        ;
    eventfd_read(bell, &rings);
    printf("letters %d\n", letters > 0);
    return unused;
}

int main(void)
{
    pthread_t sender, receiver;
    struct epoll_event event = {.events = EPOLLIN};

    bell = eventfd(0, 0);
    waiting = epoll_create1(0);
    epoll_ctl(waiting, EPOLL_CTL_ADD, bell, &event);
    pthread_create(&sender, NULL, send_letter, NULL);
    pthread_create(&receiver, NULL, receive, NULL);
    pthread_join(sender, NULL);
    pthread_join(receiver, NULL);
    return 0;
}
