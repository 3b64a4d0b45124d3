#pragma once

#include <cstdio>
#include <cstdlib>

// For bugs only, and always on: a broken invariant must stop the program before it stores nonsense.
#define LGR_ASSERT(condition)                                                                 \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "BUG: %s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                           \
    }                                                                                         \
  } while (false)
