# Everything titan links: LibTorch's CPU half as titan::torch, the distribution's libraries as themselves.
if(NOT TITAN_TORCH_DIR)
  if(DEFINED ENV{TITAN_TORCH_DIR})
    set(torch_dir $ENV{TITAN_TORCH_DIR})
  else()
    set(torch_dir ${CMAKE_SOURCE_DIR}/third_party/libtorch/torch)
  endif()
  set(TITAN_TORCH_DIR ${torch_dir} CACHE PATH "LibTorch: a folder with include/ and lib/")
endif()
if(NOT EXISTS ${TITAN_TORCH_DIR}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "No LibTorch in ${TITAN_TORCH_DIR}; run scripts/setup.sh first")
endif()

add_library(titan_torch INTERFACE)
add_library(titan::torch ALIAS titan_torch)
target_include_directories(titan_torch SYSTEM INTERFACE
  ${TITAN_TORCH_DIR}/include ${TITAN_TORCH_DIR}/include/torch/csrc/api/include)
target_compile_definitions(titan_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_compile_options(titan_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
# torch's own libgomp, so that one OpenMP runtime serves the library and our kernels.
target_link_libraries(titan_torch INTERFACE
  ${TITAN_TORCH_DIR}/lib/libtorch_cpu.so ${TITAN_TORCH_DIR}/lib/libc10.so ${TITAN_TORCH_DIR}/lib/libgomp.so.1)
target_link_options(titan_torch INTERFACE
  -Wl,--disable-new-dtags,-rpath,${TITAN_TORCH_DIR}/lib,-rpath,${TITAN_TORCH_DIR}/../nvidia/cu13/lib)

if(TITAN_CUDA)
  if(NOT EXISTS ${TITAN_TORCH_DIR}/lib/libtorch_cuda.so)
    message(FATAL_ERROR "TITAN_CUDA: ${TITAN_TORCH_DIR} is a LibTorch without CUDA; set TITAN_TORCH_DIR to one with it")
  endif()
  find_package(CUDAToolkit REQUIRED)
  target_compile_definitions(titan_torch INTERFACE TITAN_CUDA)
  # Nothing of ours refers to libtorch_cuda itself: it registers its kernels when it is loaded.
  target_link_libraries(titan_torch INTERFACE -Wl,--no-as-needed ${TITAN_TORCH_DIR}/lib/libtorch_cuda.so
    ${TITAN_TORCH_DIR}/lib/libc10_cuda.so -Wl,--as-needed CUDA::cudart)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
pkg_check_modules(TOMLPP REQUIRED IMPORTED_TARGET tomlplusplus)

# One precompiled header for every target that sees LibTorch (its headers cost 6 to 12 s a file).
add_library(titan_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(titan_pch PRIVATE titan::torch fmt::fmt-header-only nlohmann_json::nlohmann_json)
target_include_directories(titan_pch PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(titan_pch PRIVATE FMT_HEADER_ONLY=1)
target_precompile_headers(titan_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
