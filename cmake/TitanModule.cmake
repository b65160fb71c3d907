# titan_module(NAME [TORCH] SOURCES ... HEADERS ... [DEPENDS module ...] [LINK library ...] [TESTS ...]
#              [LABELS label ...])
#   One static library titan::NAME, whose DEPENDS are the layering rule, and one test program titan_NAME_test.
#   TORCH: the module sees LibTorch and shares the precompiled header. LABELS: of the test, default: unit. Modules
#   that start threads add `threads`, which the preset tsan runs.

set(TITAN_ALL_MODULES "" CACHE INTERNAL "every titan module, in order of definition")

function(titan_target_defaults target uses_torch)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${target} PUBLIC FMT_HEADER_ONLY=1)
  target_link_libraries(${target} PUBLIC fmt::fmt-header-only nlohmann_json::nlohmann_json Threads::Threads)
  if(uses_torch)
    target_link_libraries(${target} PUBLIC titan::torch)
    target_precompile_headers(${target} REUSE_FROM titan_pch)
  endif()
endfunction()

function(titan_module name)
  cmake_parse_arguments(M "TORCH" "" "SOURCES;HEADERS;DEPENDS;LINK;TESTS;LABELS" ${ARGN})
  set(target titan_${name})
  add_library(${target} STATIC ${M_SOURCES})
  add_library(titan::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${M_HEADERS})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  titan_target_defaults(${target} ${M_TORCH})
  list(TRANSFORM M_DEPENDS PREPEND titan::)
  target_link_libraries(${target} PUBLIC ${M_DEPENDS} ${M_LINK})
  set(TITAN_ALL_MODULES ${TITAN_ALL_MODULES} ${target} CACHE INTERNAL "")
  if(M_TESTS)
    titan_test(${target}_test TORCH ${M_TORCH} SOURCES ${M_TESTS} LINK titan::${name} LABELS ${M_LABELS})
  endif()
endfunction()

# Links every titan module that TARGET uses as a whole archive, so that components which only register themselves
# are there. Call after all modules that it uses are defined.
function(titan_link_whole_modules target)
  list(JOIN TITAN_ALL_MODULES "," modules)
  set_target_properties(${target} PROPERTIES LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${modules}")
endfunction()

# A GoogleTest program that is one ctest. TORCH ON: links LibTorch.
function(titan_test target)
  cmake_parse_arguments(T "" "TORCH;TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${target} ${T_SOURCES})
  titan_target_defaults(${target} ${T_TORCH})
  target_link_libraries(${target} PRIVATE ${T_LINK} GTest::gtest GTest::gtest_main)
  titan_link_whole_modules(${target})
  target_compile_definitions(${target} PRIVATE TITAN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${target} COMMAND ${target})
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  titan_test_properties(${target} "${T_LABELS}")
endfunction()

# Processes that share cores must not spin: passive waiting, and no more OpenMP threads than cores. Under the thread
# sanitizer one: OpenMP's own synchronisation is not instrumented.
function(titan_test_properties test labels)
  set(omp_threads 2)
  if("thread" IN_LIST TITAN_SANITIZE)
    set(omp_threads 1)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT 1800
    ENVIRONMENT "OMP_WAIT_POLICY=passive;OMP_NUM_THREADS=${omp_threads};ASAN_OPTIONS=detect_leaks=0")
endfunction()
