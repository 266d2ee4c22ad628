/* One thread writes `data`, and hands it over to the other one by something of the kernel or of the C library. All of it is right: nothing
   here races, and no assertion can fail. */

#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int data, counter;
static int ends[2], epoll, outer, watched, event, same;
static FILE *stream;
static char name[64];
static char *pages, *again;
static pthread_t giver_thread, taker_thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nothing(void) {}

static void open_pipe(void) { assert(pipe(ends) == 0); }

static int take_byte(void) {
    char byte;
    return read(ends[0], &byte, 1) == 1;
}

/* The end of a file, by fclose. */
static void open_stream(void) {
    open_pipe();
    stream = fdopen(ends[1], "w");
}

static void give_fclose(void) { fclose(stream); }

static int take_end(void) {
    char byte;
    return read(ends[0], &byte, 1) == 0;
}

/* What is in a buffer is written by fclose, or when all streams are flushed. */
static void give_at_fclose(void) {
    fprintf(stream, "x");
    data = 1;
    fclose(stream);
}

static void give_at_fflush(void) {
    fprintf(stream, "x");
    data = 1;
    fflush(NULL);
}

/* The lock of a stream. */
static void give_flockfile(void) {
    flockfile(stderr);
    counter++;
    funlockfile(stderr);
}

static int take_flockfile(void) {
    give_flockfile();
    return 0;
}

/* The first byte is read by number, so that the second one is the first that is read by name. */
static void give_two(void) {
    write(ends[1], "x", 1);
    data = 1;
    write(ends[1], "y", 1);
}

static int take_by_number(void) {
    char byte;
    syscall(SYS_read, ends[0], &byte, 1);
    return read(ends[0], &byte, 1) == 1;
}

/* A pipe of messages: the rest of the first one is thrown away. */
static void open_direct(void) { assert(pipe2(ends, O_DIRECT) == 0); }

static void give_messages(void) {
    write(ends[1], "xxxx", 4);
    data = 1;
    write(ends[1], "y", 1);
}

static int take_messages(void) {
    char byte;
    read(ends[0], &byte, 1);
    return read(ends[0], &byte, 1) == 1;
}

static void give_vmsplice(void) {
    struct iovec part = {"x", 1};
    vmsplice(ends[1], &part, 1, 0);
}

/* What a thread waits for is only added while it waits. */
static void open_epoll(void) {
    open_pipe();
    epoll = epoll_create1(0);
}

static void give_epoll(void) {
    struct epoll_event wanted = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &wanted);
    data = 1;
    write(ends[1], "x", 1);
}

static int take_epoll(void) {
    struct epoll_event found;
    return epoll_wait(epoll, &found, 1, -1) == 1;
}

/* A timer is not of this process, however deep it is. */
static void open_nested(void) {
    struct epoll_event wanted = {.events = EPOLLIN};
    epoll = epoll_create1(0);
    outer = epoll_create1(0);
    watched = timerfd_create(CLOCK_MONOTONIC, 0);
    epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &wanted);
    epoll_ctl(epoll, EPOLL_CTL_ADD, watched, &wanted);
}

static void give_timer(void) {
    struct itimerspec soon = {{0, 0}, {0, 20000000}};
    timerfd_settime(watched, 0, &soon, 0);
}

static int take_nested(void) {
    struct epoll_event found;
    return epoll_wait(outer, &found, 1, -1) == 1;
}

/* Standard output and standard error are read in the process itself. */
static void redirect_output(void) {
    open_pipe();
    fflush(stdout);
    setvbuf(stdout, NULL, _IONBF, 0);
    dup2(ends[1], 1);
}

static void give_printf(void) { printf("x"); }

static void redirect_errors(void) {
    open_pipe();
    dup2(ends[1], 2);
}

static void give_perror(void) { perror("x"); }

/* A file, by its descriptor and by its name. */
static void open_file(void) {
    strcpy(name, "/tmp/foretrace-XXXXXX");
    ends[1] = mkstemp(name);
    ends[0] = open(name, O_RDONLY);
}

static void give_byte(void) { write(ends[1], "x", 1); }

static int take_stat(void) {
    struct stat found;
    while (stat(name, &found), found.st_size == 0) sched_yield();
    return 1;
}

static void give_truncate(void) { truncate(name, 5); }

static int take_fstat(void) {
    struct stat found;
    while (fstat(ends[0], &found), found.st_size == 0) sched_yield();
    return 1;
}

static void open_full(void) {
    open_file();
    write(ends[1], "xxx", 3);
}

static void give_empty(void) { close(open(name, O_RDWR | O_TRUNC)); }

static int take_empty(void) {
    struct stat found;
    while (fstat(ends[0], &found), found.st_size != 0) sched_yield();
    return 1;
}

static void give_unlink(void) { unlink(name); }

static int take_unlinked(void) {
    struct stat found;
    while (fstat(ends[0], &found), found.st_nlink != 0) sched_yield();
    return 1;
}

/* A file that is in memory twice. */
static void open_pages(void) {
    open_file();
    ftruncate(ends[1], 4096);
    pages = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ends[1], 0);
    again = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ends[1], 0);
}

static void give_pwrite(void) { pwrite(ends[1], "x", 1, 0); }

static int take_load(void) { return atomic_load((_Atomic char *)pages) == 'x'; }

static void give_store(void) { atomic_store((_Atomic char *)again, 'x'); }

static int take_pread(void) {
    char byte = 0;
    while (pread(ends[0], &byte, 1, 0) != 1 || byte != 'x') sched_yield();
    return 1;
}

/* Two numbers of one eventfd, one of which the kernel alone has given out. */
static void open_event(void) {
    event = eventfd(0, 0);
    same = syscall(SYS_dup, event);
}

static void replace_event(void) {
    event = eventfd(0, 0);
    same = eventfd(0, 0);
    syscall(SYS_dup2, event, same);
}

static void pass_event(void) {
    int pair[2];
    char byte = 'x';
    struct iovec part = {&byte, 1};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } rights = {{0}};
    struct msghdr message = {0, 0, &part, 1, &rights, sizeof rights, 0};
    event = eventfd(0, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    rights.header.cmsg_level = SOL_SOCKET;
    rights.header.cmsg_type = SCM_RIGHTS;
    rights.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&rights.header), &event, sizeof(int));
    assert(sendmsg(pair[0], &message, 0) == 1);
    assert(recvmsg(pair[1], &message, 0) == 1);
    memcpy(&same, CMSG_DATA(&rights.header), sizeof(int));
}

static void give_event(void) { eventfd_write(event, 1); }

static int take_event(void) {
    eventfd_t count;
    return eventfd_read(same, &count) == 0;
}

/* Who is interrupted knows that there is a handler. */
static volatile int seen;

static void handle(int signal) { seen = data + signal; }

static void give_handler(void) { signal(SIGURG, handle); }

static int take_handler(void) {
    for (int i = 0; i < 3; i++) raise(SIGURG);
    return 0;
}

/* What is not there was not sent. */
static struct sockaddr_un self = {AF_UNIX, "\0foretrace"};
static int sent;

static void open_datagrams(void) {
    snprintf(self.sun_path + 1, sizeof self.sun_path - 1, "%d", getpid());
    ends[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    ends[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert(bind(ends[0], (void *)&self, sizeof self) == 0);
}

static void give_datagram(void) {
    sendto(ends[1], "x", 1, 0, (void *)&self, sizeof self);
    pthread_mutex_lock(&lock);
    sent = 1;
    pthread_mutex_unlock(&lock);
}

static int take_no_datagram(void) {
    char byte;
    pthread_mutex_lock(&lock);
    int was_sent = sent;
    pthread_mutex_unlock(&lock);
    if (recv(ends[0], &byte, 1, MSG_DONTWAIT) < 0) assert(!was_sent);
    return 0;
}

/* What is done at the end of a thread that was cancelled. */
static atomic_int ready;

static void clean(void *unused) {
    (void)unused;
    assert(data == 1);
}

static void give_cancel(void) {
    while (!ready) sched_yield();
    pthread_cancel(taker_thread);
}

static int take_cancel(void) {
    pthread_cleanup_push(clean, 0);
    ready = 1;
    take_byte();
    pthread_cleanup_pop(0);
    return 0;
}

static int take_cancel_in_loop(void) {
    pthread_cleanup_push(clean, 0);
    ready = 1;
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    pthread_cleanup_pop(0);
    return 0;
}

/* What functions of the C library make of a text depends on who wrote it. */
static char text[16] = "0";

static void give_text(void) {
    pthread_mutex_lock(&lock);
    strcpy(text, "1");
    pthread_mutex_unlock(&lock);
}

static int take_number(void) {
    pthread_mutex_lock(&lock);
    int number = atoi(text);
    pthread_mutex_unlock(&lock);
    return number == 1;
}

static int take_scanned(void) {
    int number = 0;
    pthread_mutex_lock(&lock);
    sscanf(text, "%d", &number);
    pthread_mutex_unlock(&lock);
    return number == 1;
}

static const struct {
    const char *name;
    void (*prepare)(void);
    void (*give)(void);
    int (*take)(void);
} ways[] = {
    {"fclose", open_stream, give_fclose, take_end},
    {"at-fclose", open_stream, give_at_fclose, take_byte},
    {"at-fflush", open_stream, give_at_fflush, take_byte},
    {"flockfile", nothing, give_flockfile, take_flockfile},
    {"by-number", open_pipe, give_two, take_by_number},
    {"direct", open_direct, give_messages, take_messages},
    {"vmsplice", open_pipe, give_vmsplice, take_byte},
    {"epoll", open_epoll, give_epoll, take_epoll},
    {"nested", open_nested, give_timer, take_nested},
    {"printf", redirect_output, give_printf, take_byte},
    {"perror", redirect_errors, give_perror, take_byte},
    {"stat", open_file, give_byte, take_stat},
    {"truncate", open_file, give_truncate, take_fstat},
    {"open-truncates", open_full, give_empty, take_empty},
    {"unlink", open_file, give_unlink, take_unlinked},
    {"pages", open_pages, give_pwrite, take_load},
    {"pages-twice", open_pages, give_store, take_load},
    {"pages-stored", open_pages, give_store, take_pread},
    {"dup-by-number", open_event, give_event, take_event},
    {"dup2-by-number", replace_event, give_event, take_event},
    {"passed", pass_event, give_event, take_event},
    {"handler", nothing, give_handler, take_handler},
    {"datagram", open_datagrams, give_datagram, take_no_datagram},
    {"cancel", open_pipe, give_cancel, take_cancel},
    {"number", nothing, give_text, take_number},
    {"scanned", nothing, give_text, take_scanned},
    {"cancel-in-loop", nothing, give_cancel, take_cancel_in_loop},
};

static int way;

static void *giver(void *unused) {
    data = 1;
    ways[way].give();
    return unused;
}

static void *taker(void *unused) {
    if (ways[way].take()) assert(data == 1);
    return unused;
}

int main(int count, char **arguments) {
    assert(count == 2);
    while (strcmp(ways[way].name, arguments[1]) != 0) way++;
    ways[way].prepare();
    pthread_create(&taker_thread, 0, taker, 0);
    pthread_create(&giver_thread, 0, giver, 0);
    pthread_join(giver_thread, 0);
    pthread_join(taker_thread, 0);
    if (name[0]) unlink(name);
    return 0;
}
