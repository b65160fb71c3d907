# Compiler flags, sanitizers, and ccache and mold where the machine has them.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
# Everywhere, executables too: they share the precompiled header with the libraries.
add_compile_options($<IF:$<COMPILE_LANGUAGE:CUDA>,-Xcompiler=-fPIC,-fPIC>)
# Designated initializers leave out members on purpose: those have defaults.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;$<$<CXX_COMPILER_ID:GNU>:-Werror>;-Wno-missing-field-initializers;-fvisibility-inlines-hidden>")
# Regions are generic lambdas over constexpr arrays.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda>")

if("thread" IN_LIST TITAN_SANITIZE AND "address" IN_LIST TITAN_SANITIZE)
  message(FATAL_ERROR "TITAN_SANITIZE: address and thread cannot be combined")
endif()
if(TITAN_SANITIZE)
  list(JOIN TITAN_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${sanitizers})
  if("thread" IN_LIST TITAN_SANITIZE)
    # Libraries use fences, which the sanitizer does not follow; that is a warning.
    add_compile_options(-Wno-tsan)
  endif()
  if("undefined" IN_LIST TITAN_SANITIZE)
    # LibTorch is built without RTTI for some of its classes: the vptr check would flag its own casts.
    add_compile_options(-fno-sanitize=vptr)
  endif()
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # A precompiled header is hashed by its content, not by its time stamp.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
