# titan_parquet: libtitan_parquet.so beside the binary, over pyarrow's C++ libraries, which scripts/setup.sh unpacks.
# titan opens it at the first Parquet file; without those libraries it is not built and titan says so.
set(TITAN_ARROW_DIR ${CMAKE_SOURCE_DIR}/third_party/arrow/pyarrow CACHE PATH
  "pyarrow: a folder with include/, libarrow.so.* and libparquet.so.*")
file(GLOB arrow_libraries ${TITAN_ARROW_DIR}/libarrow.so.* ${TITAN_ARROW_DIR}/libparquet.so.*)
if(arrow_libraries)
  add_library(titan_parquet SHARED ${CMAKE_SOURCE_DIR}/titan/data/parquet_library.cpp)
  titan_target_defaults(titan_parquet OFF)
  target_include_directories(titan_parquet SYSTEM PRIVATE ${TITAN_ARROW_DIR}/include)
  target_link_libraries(titan_parquet PRIVATE ${arrow_libraries})
  set_target_properties(titan_parquet PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} BUILD_RPATH ${TITAN_ARROW_DIR})
else()
  message(STATUS "no Arrow in ${TITAN_ARROW_DIR}: titan will not read Parquet")
endif()
