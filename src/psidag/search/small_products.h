/* Sums of products of small integers, where the processor can do 32 of them at a time.

   Values lie in -31..31. One side is given as value + 32, which is unsigned: the instruction multiplies unsigned with
   signed bytes and adds neighbours in 16 bits. Each such sum is at most 2 * 63 * 31 = 3906, so that eight of them
   can be added before they are widened to 32 bits. Integers: the order of summation does not matter. */

#ifndef PSIDAG_SMALL_PRODUCTS_H
#define PSIDAG_SMALL_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

#include <immintrin.h>

static int small_products_available(void) { return __builtin_cpu_supports("avx2") != 0; }

/* out[4 * b + a] = sum over width of left[a] * right[b], for four rows on the left and two on the right.
   width is a multiple of 256: eight steps, written out so that the sums stay in registers. */
__attribute__((target("avx2"))) static void
small_products(const uint8_t *const left[4], const int8_t *const right[2], ptrdiff_t width, int32_t out[8])
{
    const __m256i ones = _mm256_set1_epi16(1);
    const uint8_t *u0 = left[0], *u1 = left[1], *u2 = left[2], *u3 = left[3];
    const int8_t *s0 = right[0], *s1 = right[1];
    __m256i wide[8];
    for (int k = 0; k < 8; k++)
        wide[k] = _mm256_setzero_si256();

#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define ADD(sum, u, s) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(u, s))
#define STEP(t) do { \
        __m256i u, a = LOAD(s0 + (t)), b = LOAD(s1 + (t)); \
        u = LOAD(u0 + (t)); ADD(n0, u, a); ADD(n4, u, b); \
        u = LOAD(u1 + (t)); ADD(n1, u, a); ADD(n5, u, b); \
        u = LOAD(u2 + (t)); ADD(n2, u, a); ADD(n6, u, b); \
        u = LOAD(u3 + (t)); ADD(n3, u, a); ADD(n7, u, b); \
    } while (0)
#define WIDEN(k, n) wide[k] = _mm256_add_epi32(wide[k], _mm256_madd_epi16(n, ones))

    for (ptrdiff_t t = 0; t < width; t += 256) {
        __m256i n0 = _mm256_setzero_si256(), n1 = n0, n2 = n0, n3 = n0, n4 = n0, n5 = n0, n6 = n0, n7 = n0;
        STEP(t); STEP(t + 32); STEP(t + 64); STEP(t + 96);
        STEP(t + 128); STEP(t + 160); STEP(t + 192); STEP(t + 224);
        WIDEN(0, n0); WIDEN(1, n1); WIDEN(2, n2); WIDEN(3, n3);
        WIDEN(4, n4); WIDEN(5, n5); WIDEN(6, n6); WIDEN(7, n7);
    }
#undef LOAD
#undef ADD
#undef STEP
#undef WIDEN

    for (int b = 0; b < 2; b++) {
        const __m256i *w = wide + 4 * b;
        __m256i four = _mm256_hadd_epi32(_mm256_hadd_epi32(w[0], w[1]), _mm256_hadd_epi32(w[2], w[3]));
        __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
        _mm_storeu_si128((__m128i *)(out + 4 * b), sums);
    }
}

#else

static int small_products_available(void) { return 0; }

/* The same, slowly: so that what uses it can be compiled, and tested, everywhere. */
static void
small_products(const uint8_t *const left[4], const int8_t *const right[2], ptrdiff_t width, int32_t out[8])
{
    for (int b = 0; b < 2; b++)
        for (int a = 0; a < 4; a++) {
            int32_t sum = 0;
            for (ptrdiff_t t = 0; t < width; t++)
                sum += (int32_t)left[a][t] * right[b][t];
            out[4 * b + a] = sum;
        }
}

#endif
#endif
