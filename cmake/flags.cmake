# Compiler and linker flags as targets: lgr_flags (warnings) and lgr_sanitize.
add_library(lgr_flags INTERFACE)
target_compile_options(lgr_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough
  # clang's -Wconversion also warns of signedness, g++'s does not: one set of warnings for both.
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wno-sign-conversion>
  $<$<BOOL:${LGR_WERROR}>:-Werror>)
if(CMAKE_UNITY_BUILD AND LGR_WERROR)
  # Only true of files that are compiled together; the dev and clang builds compile each alone.
  target_compile_options(lgr_flags INTERFACE -Wno-shadow
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
# Beast and Asio are compiled once, in common/net/boost_impl.cpp.
target_compile_definitions(lgr_flags INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
  LGR_VERSION="${PROJECT_VERSION}"
  $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
target_include_directories(lgr_flags INTERFACE ${PROJECT_SOURCE_DIR})

add_library(lgr_sanitize INTERFACE)
if(LGR_SANITIZE)
  target_compile_options(lgr_sanitize INTERFACE
    -fsanitize=${LGR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lgr_sanitize INTERFACE -fsanitize=${LGR_SANITIZE})
endif()

if(LGR_FUZZ)
  # Coverage in the libraries; tests/fuzz links the engine.
  target_compile_options(lgr_sanitize INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(LGR_MOLD mold)
if(LGR_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
