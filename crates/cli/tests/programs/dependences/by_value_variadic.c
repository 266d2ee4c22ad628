#include "harness.h"
#include <stdarg.h>
struct S { long a,b,c; };
__attribute__((noinline)) long vs(int n,...){ va_list ap; va_start(ap,n); struct S s=va_arg(ap,struct S); va_end(ap); return s.a+s.c; }
int main(){ int r=begin(); struct S s={r,0,r}; long y=vs(1,s); CHECK(y==2*r); finish(); }
