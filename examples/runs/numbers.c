/* Numbers of a file that an argument names, or of standard input, added up by as many threads as
 * another argument says. WRONG forgets the lock. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    int from, to;
};

static int numbers[16], count;
static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *add(void *given) {
    struct part *part = given;
    int sum = 0;
    for (int i = part->from; i < part->to; i++)
        sum += numbers[i];
#ifndef WRONG
    pthread_mutex_lock(&lock);
#endif
    total += sum;
#ifndef WRONG
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    FILE *file = strcmp(argv[1], "-") == 0 ? stdin : fopen(argv[1], "r");
    if (file == NULL) {
        perror(argv[1]);
        return 2;
    }
    int expected = 0;
    char line[80];
    while (count < 16 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%d", &numbers[count]) != 1)
            continue;
        expected += numbers[count];
        count++;
    }
    if (file != stdin)
        fclose(file);
    assert(count == 4 && expected == 30);
    int threads = atoi(argv[2]);
    pthread_t *ids = malloc(threads * sizeof *ids);
    struct part *parts = calloc(threads, sizeof *parts);
    for (int i = 0; i < threads; i++) {
        parts[i].from = count * i / threads;
        parts[i].to = count * (i + 1) / threads;
        pthread_create(&ids[i], NULL, add, &parts[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    assert(total == expected);
    printf("%d\n", total);
    free(ids);
    free(parts);
    return 0;
}
