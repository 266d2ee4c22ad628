#define _GNU_SOURCE
#include "harness.h"
int main(){ int r=begin(); int v=r; pthread_mutexattr_t at; pthread_mutexattr_init(&at); pthread_mutexattr_getpshared(&at,&v); CHECK(v==0); finish(); }
