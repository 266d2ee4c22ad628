#include "harness.h"
__attribute__((noinline)) int f32(int a){ return a==0; }
int main(){ int r=begin(); long v=(long)r<<32; int y=((int(*)(long))f32)(v); CHECK(y==1); finish(); }
