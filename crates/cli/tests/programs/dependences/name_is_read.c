#define _GNU_SOURCE
#include "harness.h"
int main(){ int r=begin(); char n[32]="aaaaaaaaaaaaaaaaaaaaaaaa"; n[15-15*(r?0:0)]= r?'a':0; int y=pthread_setname_np(pthread_self(), n); CHECK((y!=0)==r); finish(); }
