/* A library that is not instrumented waits where nobody sees it, and then calls back: in the thread that called it, or in one of its own. */

#define _GNU_SOURCE
#include <assert.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

void library_wait_and_call(void (*function)(void));
void library_call_and_signal(void (*function)(void));
void library_begin(void (*function)(void));
void library_signal(void);
void library_wait(void);
void library_take_turns(void (*function)(void), int who, int rounds);

static int data;

static void look(void) { assert(data == 1); }

static void set(void) { data = 1; }

static void *waits(void *unused) {
    library_wait_and_call(look);
    return unused;
}

static void *waits_plainly(void *unused) {
    library_wait();
    look();
    return unused;
}

static void step(void) { data++; }

static void *takes_turns(void *who) {
    library_take_turns(step, *(int *)who, 3);
    return NULL;
}

/* The C library calls these under locks of its own. */
static ssize_t put(void *unused, const char *from, size_t size) {
    (void)unused, (void)from;
    data++;
    return (ssize_t)size;
}

static FILE *stream;

static void *prints(void *unused) {
    for (int i = 0; i < 3; i++) fputs("text", stream);
    return unused;
}

static int visit(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)info, (void)size, (void)unused;
    data++;
    return 1;
}

static void *visits(void *unused) {
    for (int i = 0; i < 3; i++) dl_iterate_phdr(visit, NULL);
    return unused;
}

/* Nothing keeps these apart. */
static pthread_barrier_t both;

static void meet_and_step(void) {
    pthread_barrier_wait(&both);
    step(); /* Here is the race. */
}

static void *meets(void *unused) {
    library_call_and_signal(meet_and_step);
    return unused;
}

static int two(void *(*work)(void *)) {
    pthread_t threads[2];
    int who[2] = {0, 1};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, &who[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}

int main(int count, char **arguments) {
    pthread_t thread;
    assert(count == 2);
    pthread_barrier_init(&both, NULL, 2);
    stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = put});
    setvbuf(stream, NULL, _IONBF, 0);
    if (strcmp(arguments[1], "turns") == 0) return two(takes_turns);
    if (strcmp(arguments[1], "stream") == 0) return two(prints);
    if (strcmp(arguments[1], "loader") == 0) return two(visits);
    if (strcmp(arguments[1], "at-once") == 0) return two(meets);
    if (strcmp(arguments[1], "own") == 0) {
        library_begin(look);
        set();
        library_signal();
        library_wait();
        return 0;
    }
    int is_waiting = strcmp(arguments[1], "waits") == 0;
    pthread_create(&thread, 0, is_waiting ? waits : waits_plainly, 0);
    if (is_waiting) {
        set();
        library_signal();
    } else {
        library_call_and_signal(set);
    }
    pthread_join(thread, 0);
    return 0;
}
