/* Sums of products of small integers, a block of 32 rows by 32 columns at a time, by the best that the processor has.

   What every kernel relies on:
   - Values lie in -31..31. Those on the left are given as value + 32, which is unsigned: the instructions multiply
     unsigned with signed bytes. `start` is what the sums of a column begin with, -32 times the sum of its values,
     which takes the shift out again.
   - `width` values each, a multiple of 64, in steps of 64. The left is held in strips of 16 rows: for each step 16 rows
     of 64 bytes. The right is held in strips of 16 columns: for each step 16 groups of four values, each group as 16
     columns of 4 bytes. Two strips follow one another in a block, `16 * width` bytes apart.
   - Integers: the order of summation does not matter, and all kernels give the same sums.

   Millions of pairs of 1,024 values a second on one core of a Xeon of 2023, with the comparison with bounds, at best:
   plain 1, avx2 84, vnni 349, amx 1,260; single precision in the BLAS 58 (benchmarks/huge.md, "The comparison"). */

#ifndef PSIDAG_SMALL_PRODUCTS_H
#define PSIDAG_SMALL_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

enum { SMALL_STRIP = 16, SMALL_BLOCK = 32, SMALL_STEP = 64, SMALL_STEP_BYTES = SMALL_STRIP * SMALL_STEP };
enum { SMALL_PLAIN, SMALL_AVX2, SMALL_VNNI, SMALL_AMX, SMALL_KERNELS };

#if defined(__GNUC__) || defined(__clang__)
#define SMALL_INLINE static inline __attribute__((always_inline))
#else
#define SMALL_INLINE static inline
#endif

typedef struct {
    const uint8_t *left;
    const int8_t *right;
    const int32_t *start;
    ptrdiff_t width;
} small_block;

/* A bit for each row in which a sum exceeds the bound of the row in size. Inlined into each kernel, and so compiled for
   its processor. */
SMALL_INLINE uint32_t
small_rows_above(const int32_t *sums, const int32_t *bound)
{
    uint32_t rows = 0;
    for (int a = 0; a < SMALL_BLOCK; a++) {
        int32_t above = 0;
        for (int b = 0; b < SMALL_BLOCK; b++) {
            int32_t value = sums[SMALL_BLOCK * a + b];
            above |= (value > bound[a]) | (-value > bound[a]);
        }
        rows |= (uint32_t)above << a;
    }
    return rows;
}

static uint32_t
small_plain(const small_block *of, const int32_t *bound, int32_t *sums)
{
    for (int a = 0; a < SMALL_BLOCK; a++)
        for (int b = 0; b < SMALL_BLOCK; b++) {
            const uint8_t *u = of->left + a / SMALL_STRIP * SMALL_STRIP * of->width + a % SMALL_STRIP * SMALL_STEP;
            const int8_t *s = of->right + b / SMALL_STRIP * SMALL_STRIP * of->width + b % SMALL_STRIP * 4;
            int32_t sum = of->start[b];
            for (ptrdiff_t t = 0; t < of->width; t += SMALL_STEP, u += SMALL_STEP_BYTES, s += SMALL_STEP_BYTES)
                for (int k = 0; k < SMALL_STEP; k++)
                    sum += (int32_t)u[k] * s[k / 4 * SMALL_STEP + k % 4];
            sums[SMALL_BLOCK * a + b] = sum;
        }
    return small_rows_above(sums, bound);
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

#include <immintrin.h>
#include <string.h>

/* Four values of one row, for all columns of a vector. */
SMALL_INLINE int32_t
small_four(const uint8_t *at)
{
    int32_t four;
    memcpy(&four, at, 4);
    return four;
}

/* A sum stays in its register: compilers that add in another order keep dozens of products, and store most of them. */
#define SMALL_IN_REGISTER(sum) __asm__("" : "+x"(sum))

/* Four rows and 16 columns at a time; the columns stay in the nearest cache while all rows pass by. Neighbours are added
   in 16 bits, at most 2 * 63 * 31 = 3906, so that eight such sums can be added before they are widened. */
__attribute__((target("avx2"))) static uint32_t
small_avx2(const small_block *of, const int32_t *bound, int32_t *sums)
{
    const __m256i ones = _mm256_set1_epi16(1);
    for (int b = 0; b < SMALL_BLOCK; b += SMALL_STRIP)
        for (int a = 0; a < SMALL_BLOCK; a += 4) {
            const uint8_t *u = of->left + a / SMALL_STRIP * SMALL_STRIP * of->width + a % SMALL_STRIP * SMALL_STEP;
            const int8_t *s = of->right + b * of->width;
            __m256i wide[4][2];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 2; j++)
                    wide[i][j] = _mm256_loadu_si256((const __m256i *)(of->start + b + 8 * j));
            for (ptrdiff_t t = 0; t < of->width; t += SMALL_STEP, u += SMALL_STEP_BYTES, s += SMALL_STEP_BYTES)
                for (int half = 0; half < SMALL_STEP; half += 32) {
                    __m256i narrow[4][2] = {{_mm256_setzero_si256()}};
#pragma GCC unroll 8
                    for (int k = half; k < half + 32; k += 4) {
                        __m256i s0 = _mm256_loadu_si256((const __m256i *)(s + k * 16));
                        __m256i s1 = _mm256_loadu_si256((const __m256i *)(s + k * 16 + 32));
#pragma GCC unroll 4
                        for (int i = 0; i < 4; i++) {
                            __m256i row = _mm256_set1_epi32(small_four(u + i * SMALL_STEP + k));
                            narrow[i][0] = _mm256_add_epi16(narrow[i][0], _mm256_maddubs_epi16(row, s0));
                            narrow[i][1] = _mm256_add_epi16(narrow[i][1], _mm256_maddubs_epi16(row, s1));
                            SMALL_IN_REGISTER(narrow[i][0]);
                            SMALL_IN_REGISTER(narrow[i][1]);
                        }
                    }
#pragma GCC unroll 4
                    for (int i = 0; i < 4; i++)
#pragma GCC unroll 2
                        for (int j = 0; j < 2; j++)
                            wide[i][j] = _mm256_add_epi32(wide[i][j], _mm256_madd_epi16(narrow[i][j], ones));
                }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 2; j++)
                    _mm256_storeu_si256((__m256i *)(sums + SMALL_BLOCK * (a + i) + b + 8 * j), wide[i][j]);
        }
    return small_rows_above(sums, bound);
}

/* Eight rows and 32 columns at a time: 16 sums of 16 columns in registers, and one instruction for 64 products. */
__attribute__((target("avx512f,avx512bw,avx512vnni"))) static uint32_t
small_vnni(const small_block *of, const int32_t *bound, int32_t *sums)
{
    const ptrdiff_t next = SMALL_STRIP * of->width;
    for (int a = 0; a < SMALL_BLOCK; a += 8) {
        const uint8_t *u = of->left + a / SMALL_STRIP * next + a % SMALL_STRIP * SMALL_STEP;
        const int8_t *s = of->right;
        __m512i sum[8][2];
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
#pragma GCC unroll 2
            for (int j = 0; j < 2; j++)
                sum[i][j] = _mm512_loadu_si512(of->start + SMALL_STRIP * j);
        for (ptrdiff_t t = 0; t < of->width; t += SMALL_STEP, u += SMALL_STEP_BYTES, s += SMALL_STEP_BYTES)
            for (int k = 0; k < SMALL_STEP; k += 4) {
                __m512i s0 = _mm512_loadu_si512(s + k * 16), s1 = _mm512_loadu_si512(s + next + k * 16);
#pragma GCC unroll 8
                for (int i = 0; i < 8; i++) {
                    __m512i row = _mm512_set1_epi32(small_four(u + i * SMALL_STEP + k));
                    sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], row, s0);
                    sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], row, s1);
                }
            }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
#pragma GCC unroll 2
            for (int j = 0; j < 2; j++)
                _mm512_storeu_si512(sums + SMALL_BLOCK * (a + i) + SMALL_STRIP * j, sum[i][j]);
    }
    return small_rows_above(sums, bound);
}

#if defined(__linux__) && ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && __GNUC__ >= 11))
#define SMALL_HAS_AMX 1

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the processor has the tiles, and the kernel lets this process use them: a request holds for all its threads. */
static int
small_amx_granted(void)
{
    enum { REQUEST = 0x1023, TILES = 18, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & AMX_TILE) || !(d & AMX_INT8))
        return 0;
    return syscall(SYS_arch_prctl, REQUEST, TILES) == 0;
}

/* Eight tiles of 16 rows of 64 bytes each, of the calling thread. A constant: the compiler does not know that the
   instruction reads it. */
__attribute__((target("amx-tile"))) static void
small_amx_begin(void)
{
    static const struct { uint8_t palette, row, unused[14]; uint16_t bytes[16]; uint8_t rows[16]; } tiles = {
        1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16},
    };
    _tile_loadconfig(&tiles);
}

__attribute__((target("amx-tile"))) static void small_amx_end(void) { _tile_release(); }

/* Two strips by two: one instruction for 16,384 products. */
__attribute__((target("amx-tile,amx-int8,avx512f,avx512bw"))) static uint32_t
small_amx(const small_block *of, const int32_t *bound, int32_t *sums)
{
    const ptrdiff_t next = SMALL_STRIP * of->width;
    const uint8_t *u = of->left;
    const int8_t *s = of->right;
    /* Nor does it know that loads of tiles read memory. */
    __asm__ volatile("" ::: "memory");
    _tile_loadd(0, of->start, 0);
    _tile_loadd(1, of->start + SMALL_STRIP, 0);
    _tile_loadd(2, of->start, 0);
    _tile_loadd(3, of->start + SMALL_STRIP, 0);
    for (ptrdiff_t t = 0; t < of->width; t += SMALL_STEP, u += SMALL_STEP_BYTES, s += SMALL_STEP_BYTES) {
        _tile_loadd(4, u, SMALL_STEP);
        _tile_loadd(6, s, SMALL_STEP);
        _tile_loadd(5, u + next, SMALL_STEP);
        _tile_loadd(7, s + next, SMALL_STEP);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, sums, 4 * SMALL_BLOCK);
    _tile_stored(1, sums + SMALL_STRIP, 4 * SMALL_BLOCK);
    _tile_stored(2, sums + SMALL_STRIP * SMALL_BLOCK, 4 * SMALL_BLOCK);
    _tile_stored(3, sums + SMALL_STRIP * SMALL_BLOCK + SMALL_STRIP, 4 * SMALL_BLOCK);
    return small_rows_above(sums, bound);
}
#endif

static int
small_has(int kernel)
{
    switch (kernel) {
    case SMALL_PLAIN: return 1;
    case SMALL_AVX2: return __builtin_cpu_supports("avx2") != 0;
    case SMALL_VNNI: return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
#ifdef SMALL_HAS_AMX
    case SMALL_AMX: return __builtin_cpu_supports("avx512bw") && small_amx_granted();
#endif
    default: return 0;
    }
}

/* Around all blocks of one thread. */
static void
small_begin(int kernel)
{
#ifdef SMALL_HAS_AMX
    if (kernel == SMALL_AMX)
        small_amx_begin();
#endif
}

static void
small_end(int kernel)
{
#ifdef SMALL_HAS_AMX
    if (kernel == SMALL_AMX)
        small_amx_end();
#endif
}

static uint32_t
small_sums(int kernel, const small_block *of, const int32_t *bound, int32_t *sums)
{
    switch (kernel) {
    case SMALL_AVX2: return small_avx2(of, bound, sums);
    case SMALL_VNNI: return small_vnni(of, bound, sums);
#ifdef SMALL_HAS_AMX
    case SMALL_AMX: return small_amx(of, bound, sums);
#endif
    default: return small_plain(of, bound, sums);
    }
}

#else

static int small_has(int kernel) { return kernel == SMALL_PLAIN; }
static void small_begin(int kernel) {}
static void small_end(int kernel) {}

static uint32_t
small_sums(int kernel, const small_block *of, const int32_t *bound, int32_t *sums)
{
    return small_plain(of, bound, sums);
}

#endif
#endif
