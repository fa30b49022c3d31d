/* What Debian sid's static Swift libraries call and glibc 2.36 / libstdc++ 12 do not have.
   __isoc23_*: strtol and friends that take "0b..." too (glibc 2.38); strlcpy and strlcat
   (glibc 2.38);
   ios_base_library_init: an empty marker of GCC 13 (GLIBCXX_3.4.32): older libstdc++ headers make
   a static ios_base::Init instead. */
#include <stdarg.h>
#include <stddef.h>
#define H __attribute__((visibility("hidden")))
extern long strtol(const char *restrict, char **restrict, int);
extern long long strtoll(const char *restrict, char **restrict, int);
extern unsigned long strtoul(const char *restrict, char **restrict, int);
extern unsigned long long strtoull(const char *restrict, char **restrict, int);
extern int vsscanf(const char *restrict, const char *restrict, va_list) __asm__("__isoc99_vsscanf");
extern size_t strlen(const char *);
extern void *memcpy(void *restrict, const void *restrict, size_t);
H long __isoc23_strtol(const char *restrict s, char **restrict e, int b) { return strtol(s, e, b); }
H long long __isoc23_strtoll(const char *restrict s, char **restrict e, int b) { return strtoll(s, e, b); }
H unsigned long __isoc23_strtoul(const char *restrict s, char **restrict e, int b) { return strtoul(s, e, b); }
H unsigned long long __isoc23_strtoull(const char *restrict s, char **restrict e, int b) { return strtoull(s, e, b); }
H int __isoc23_sscanf(const char *restrict s, const char *restrict f, ...) {
    va_list a; va_start(a, f); int n = vsscanf(s, f, a); va_end(a); return n;
}
H size_t strlcpy(char *restrict d, const char *restrict s, size_t n) {
    size_t l = strlen(s);
    if (n) { size_t k = l < n ? l : n - 1; memcpy(d, s, k); d[k] = 0; }
    return l;
}
H size_t strlcat(char *restrict d, const char *restrict s, size_t n) {
    size_t l = 0;
    while (l < n && d[l]) l++;
    return l + strlcpy(d + l, s, n - l);
}
H void _ZSt21ios_base_library_initv(void) {}
