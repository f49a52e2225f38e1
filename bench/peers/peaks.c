// Prints what this machine reaches with N threads: GFLOP/s of multiply-adds in registers, and GB/s that a copy of
// blocks far larger than the caches moves (read and written bytes together).
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __AVX512F__
enum { kLanes = 16 };
#else
enum { kLanes = 8 };
#endif
typedef float Vector __attribute__((vector_size(kLanes * 4)));

enum { kSteps = 2000000, kRepeats = 15 };
static const size_t kBytes = (size_t)128 << 20;
static pthread_barrier_t barrier;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Twelve chains hide the latency. They start apart, or the compiler would see that they are one.
static double multiply_adds(void) {
  volatile float seed = 0.5f;
  const Vector a = (Vector){} + seed, b = (Vector){} + seed;
#define START (Vector){} + seed
  Vector s0 = START, s1 = START, s2 = START, s3 = START, s4 = START, s5 = START;
  Vector s6 = START, s7 = START, s8 = START, s9 = START, s10 = START, s11 = START;
  const double start = now();
  for (int i = 0; i < kSteps; ++i) {
    s0 = s0 * a + b, s1 = s1 * a + b, s2 = s2 * a + b, s3 = s3 * a + b, s4 = s4 * a + b, s5 = s5 * a + b;
    s6 = s6 * a + b, s7 = s7 * a + b, s8 = s8 * a + b, s9 = s9 * a + b, s10 = s10 * a + b, s11 = s11 * a + b;
  }
  const double seconds = now() - start;
  const Vector sum = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  seed = sum[0];
  return 24.0 * kLanes * kSteps / seconds / 1e9;
}

static void* work(void* result) {
  double* best = result;
  char *from = malloc(kBytes), *to = malloc(kBytes);
  memset(from, 1, kBytes), memset(to, 2, kBytes);
  for (int i = 0; i < kRepeats; ++i) {
    pthread_barrier_wait(&barrier);
    const double rate = multiply_adds();
    if (rate > best[0]) best[0] = rate;
    pthread_barrier_wait(&barrier);
    const double start = now();
    memcpy(to, from, kBytes);
    const double copied = 2.0 * (double)kBytes / (now() - start) / 1e9;
    if (copied > best[1]) best[1] = copied;
  }
  free(from), free(to);
  return NULL;
}

int main(int count, char** arguments) {
  const int threads = count > 1 ? atoi(arguments[1]) : 1;
  pthread_t others[256];
  static double best[256][2];
  if (threads < 1 || threads > 256) return 1;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 1; i < threads; ++i) pthread_create(&others[i], NULL, work, best[i]);
  work(best[0]);
  double gflops = best[0][0], gigabytes = best[0][1];
  for (int i = 1; i < threads; ++i) {
    pthread_join(others[i], NULL);
    gflops += best[i][0], gigabytes += best[i][1];
  }
  printf("{\"gflops\": %.1f, \"copy_gb_s\": %.1f}\n", gflops, gigabytes);
  return 0;
}
