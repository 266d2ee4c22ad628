/* A library that is not instrumented waits where nobody sees it, and then calls back: in the thread that called it, or in one of its own. */

#include <assert.h>
#include <pthread.h>
#include <string.h>

void library_wait_and_call(void (*function)(void));
void library_call_and_signal(void (*function)(void));
void library_begin(void (*function)(void));
void library_signal(void);
void library_wait(void);

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

int main(int count, char **arguments) {
    pthread_t thread;
    assert(count == 2);
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
