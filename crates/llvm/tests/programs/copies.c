// Whole structs, and the string functions of the C library.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct big {
  char text[100];
  int number;
  double real;
} one, two;

struct small {
  int a, b, c;
} left, right;

char buffer[64];

static struct big changed(struct big big) {
  big.number += 1;
  two = big;
  return big;
}

static int printed(struct big big) {
  struct big *address = &big;
  return address->number + (int)address->real + printf("%s\n", big.text);
}

static struct small made(void) { return (struct small){7, 8, 9}; }

int main(void) {
  strcpy(one.text, "hello");
  one.number = 3;
  one.real = 2.5;
  struct big result = changed(one);
  printf("%s %d %g %d\n", result.text, result.number, result.real, two.number);
  struct big local = one;
  printf("%d %d\n", printed(one), printed(local));
  left = (struct small){1, 2, 3};
  right = left;
  right.b++;
  left = made();
  printf("%d %d\n", right.b, left.c);

  strcpy(buffer, "abc");
  strcat(buffer, "def");
  strncpy(buffer + 10, "xyz", 4);
  char *copy = strdup(buffer);
  printf("%zu %zu %s\n", strlen(buffer), strnlen(buffer, 2), buffer + 10);
  printf("%d %d %d\n", strcmp(buffer, "abcdef"), strncmp(buffer, "abd", 3) < 0, memcmp(copy, buffer, 7));
  printf("%s %s %s\n", strchr(buffer, 'c'), strrchr(buffer, 'e'), (char *)memchr(buffer, 'b', 6));
  free(copy);
  memcpy(buffer + 20, buffer, 8);
  memmove(buffer + 1, buffer, 7);
  memset(buffer + 40, 'q', 5);
  printf("%s %s %s\n", buffer, buffer + 20, buffer + 40);
  return 0;
}
