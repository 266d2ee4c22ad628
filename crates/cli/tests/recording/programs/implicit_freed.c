// Two threads share a session, and one of them frees it. What keeps the other one from using it afterwards:
// nothing, a lock around each use but no flag (LOCKED), a join (JOINED), a flag under the lock (FLAG), a count of references (COUNTED).
// USED: it is used after the join.
#include <pthread.h>
#include <stdlib.h>

struct session {
    int sent, received, references;
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int closed;
static volatile int seen;

static void release(struct session *session)
{
    pthread_mutex_lock(&m);
    int left = --session->references;
    pthread_mutex_unlock(&m);
    if (left == 0)
        free(session);
}

static void *works(void *given)
{
    struct session *session = given;
#if defined FLAG
    pthread_mutex_lock(&m);
    if (!closed)
        session->sent++;
    pthread_mutex_unlock(&m);
#elif defined LOCKED
    pthread_mutex_lock(&m);
    session->sent++;
    pthread_mutex_unlock(&m);
#else
    session->sent++;
#endif
#ifdef COUNTED
    release(session);
#endif
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct session *session = calloc(1, sizeof *session);
    session->references = 2;
    pthread_create(&thread, NULL, works, session);
    // Lets the other one go first, most often.
    for (int i = 0; i < 50; i++)
        seen = i;
    (void)closed, (void)release;
#if defined JOINED
    pthread_join(thread, NULL);
    free(session);
#ifdef USED
    seen = session->received;
#endif
    return 0;
#elif defined COUNTED
    release(session);
#elif defined FLAG
    pthread_mutex_lock(&m);
    closed = 1;
    free(session);
    pthread_mutex_unlock(&m);
#elif defined LOCKED
    pthread_mutex_lock(&m);
    free(session);
    pthread_mutex_unlock(&m);
#else
    free(session);
#endif
    pthread_join(thread, NULL);
    return 0;
}
