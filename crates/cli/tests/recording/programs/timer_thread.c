/* A timer that calls a function in a thread of the C library's own. */

#include <signal.h>
#include <time.h>
#include <unistd.h>

static void notified(union sigval unused) { (void)unused; }

int main(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD};
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    event.sigev_notify_function = notified;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, 0);
    sleep(1);
    return 0;
}
