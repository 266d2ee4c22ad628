#include "harness.h"
char buf[16]; int garr[4];
void *o2(void*a){ pthread_mutex_lock(&m); buf[1]=0; pthread_mutex_unlock(&m); return a;}
int main(){ pthread_t t2; pthread_create(&t2,0,o2,0); int r=begin(); pthread_mutex_lock(&m); buf[0]='0'+r; buf[1]=0; int y=atoi(buf); pthread_mutex_unlock(&m); CHECK(y==r); finish(); pthread_join(t2,0);}
