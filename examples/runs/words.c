/* The words of a file, counted by a thread for each line. WRONG forgets the lock of a bucket. */
#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4

struct entry {
    char word[12];
    int count;
    struct entry *next;
};

static struct entry *table[BUCKETS];
static pthread_mutex_t locks[BUCKETS];

static unsigned bucket_of(const char *word) {
    unsigned hash = 5381;
    while (*word != '\0')
        hash = hash * 33 + (unsigned char)*word++;
    return hash % BUCKETS;
}

static void add(const char *word) {
    unsigned bucket = bucket_of(word);
#ifndef WRONG
    pthread_mutex_lock(&locks[bucket]);
#endif
    struct entry *entry = table[bucket];
    while (entry != NULL && strcmp(entry->word, word) != 0)
        entry = entry->next;
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry);
        strncpy(entry->word, word, sizeof entry->word - 1);
        entry->next = table[bucket];
        table[bucket] = entry;
    }
    entry->count++;
#ifndef WRONG
    pthread_mutex_unlock(&locks[bucket]);
#endif
}

static void *work(void *line) {
    char *rest = NULL;
    for (char *word = strtok_r(line, " ,\n", &rest); word; word = strtok_r(NULL, " ,\n", &rest)) {
        for (char *letter = word; *letter != '\0'; letter++)
            *letter = (char)tolower((unsigned char)*letter);
        if (isalpha((unsigned char)word[0]))
            add(word);
    }
    return NULL;
}

static int compare(const void *left, const void *right) {
    return *(const int *)left - *(const int *)right;
}

int main(int argc, char **argv) {
    static char lines[4][32];
    int read = 0;
    pthread_t threads[4];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        return 2;
    for (int i = 0; i < BUCKETS; i++)
        pthread_mutex_init(&locks[i], NULL);
    while (read < 4 && fgets(lines[read], sizeof lines[read], file) != NULL)
        read++;
    fclose(file);
    for (int i = 0; i < read; i++)
        pthread_create(&threads[i], NULL, work, lines[i]);
    for (int i = 0; i < read; i++)
        pthread_join(threads[i], NULL);
    int counts[16], words = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = table[i]; entry != NULL; entry = entry->next)
            counts[words++] = entry->count;
    qsort(counts, (size_t)words, sizeof counts[0], compare);
    assert(words == 3 && counts[0] == 1 && counts[2] == 2);
    return 0;
}
