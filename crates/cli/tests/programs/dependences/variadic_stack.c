#include "harness.h"
#include <stdarg.h>
__attribute__((noinline)) void use(long*p){ __asm__ volatile("" :: "r"(p)); }
long sink;
__attribute__((noinline)) void dirty(long r){ long a[40]; for(int i=0;i<40;i++) a[i]=r; use(a); sink=a[3]; }
__attribute__((noinline)) long vs(int n,...){ va_list ap; va_start(ap,n); long t=0; for(int i=0;i<n;i++) t+=va_arg(ap,long); va_end(ap); return t; }
int main(){ int r=begin(); dirty(r); long y=vs(8,0l,0l,0l,0l,0l,0l,0l,0l); CHECK(y==0); finish(); }
