#include "harness.h"
struct S { long a,b,c,d; };
__attribute__((noinline)) void use(long*p){ __asm__ volatile("" :: "r"(p)); }
long sink;
__attribute__((noinline)) void dirty(long r){ long a[40]; for(int i=0;i<40;i++) a[i]=r; use(a); sink=a[3]; }
__attribute__((noinline)) long take(struct S s){ use(&s.a); return s.a+s.b+s.c+s.d; }
__attribute__((noinline)) long g(void){ struct S z={0,0,0,0}; return take(z); }
int main(){ int r=begin(); dirty(r); long y=g(); CHECK(y==0); finish(); }
