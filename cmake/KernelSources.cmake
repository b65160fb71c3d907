# titan_kernel_sources(TARGET file...): compiles each file once per instruction set, inside the
# namespace of that level. Kernel files include no LibTorch header.
function(titan_kernel_sources target)
  set(flags_avx2 -march=x86-64-v3)
  set(flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  set(flags_avx512_bf16 ${flags_avx512} -mavx512bf16)
  foreach(level avx2 avx512 avx512_bf16)
    set(object ${target}_${level})
    add_library(${object} OBJECT ${ARGN})
    target_include_directories(${object} PRIVATE ${CMAKE_SOURCE_DIR})
    # Contraction would let the compiler round one formula in two ways; fma() is written out. Without traps and errno a
    # division or root that does not change may leave its loop.
    target_compile_options(${object} PRIVATE -O3 -fopenmp -ffp-contract=off -fno-trapping-math -fno-math-errno
      ${flags_${level}})
    target_compile_definitions(${object} PRIVATE TITAN_ISA_NAMESPACE=${level})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
endfunction()
