/* The library of called_back.c, which is not instrumented. */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int signalled, done;
static void (*job)(void);

void library_signal(void) { signalled = 1; }

void library_wait_and_call(void (*function)(void)) {
    while (!signalled) sched_yield();
    function();
}

void library_call_and_signal(void (*function)(void)) {
    function();
    done = 1;
    sched_yield();
}

void library_wait(void) {
    while (!done) sched_yield();
}

static void *run(void *unused) {
    library_wait_and_call(job);
    done = 1;
    return unused;
}

void library_begin(void (*function)(void)) {
    pthread_t thread;
    job = function;
    pthread_create(&thread, 0, run, 0);
    pthread_detach(thread);
}

static atomic_int turn;

/* Two threads call; their functions are called one after the other. */
void library_take_turns(void (*function)(void), int who, int rounds) {
    for (int i = 0; i < rounds; i++) {
        while (turn != who) sched_yield();
        function();
        turn = 1 - who;
    }
}
