// Races on memory that has names in the source: a member of a block, of an array in a global
// variable, a local variable, and a lock in a structure.
#include <pthread.h>
#include <stdlib.h>

struct connection {
    int id;
    int state;
    pthread_mutex_t lock;
};

struct queue {
    int count;
    struct {
        int ready;
        int used;
    } cells[3];
};

struct job {
    struct connection *connection;
    int *done;
};

static struct queue queue;

static void set_state(struct connection *connection, int state) { connection->state = state; }

static void finish(struct connection *connection) {
    set_state(connection, 2);
    queue.cells[1].ready++;
    pthread_mutex_lock(&connection->lock);
    connection->id++;
    pthread_mutex_unlock(&connection->lock);
}

static void *work(void *argument) {
    struct job *job = argument;
    finish(job->connection);
    (*job->done)++;
    return NULL;
}

int main(void) {
    int done = 0;
    struct connection *connection = calloc(1, sizeof *connection);
    pthread_mutex_init(&connection->lock, NULL);
    struct job job = {connection, &done};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &job);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    free(connection);
    return 0;
}
