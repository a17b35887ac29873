# find_package(jitterlab) gives the targets jitterlab::jitterlab, the shared library, and jitterlab::static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

# Through links such as /lib, beside which there is no /include.
get_filename_component(_jitterlab_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_jitterlab_prefix "${_jitterlab_prefix}/../../.." ABSOLUTE)
if(NOT TARGET jitterlab::jitterlab)
  add_library(jitterlab::jitterlab SHARED IMPORTED)
  set_target_properties(jitterlab::jitterlab PROPERTIES
    IMPORTED_LOCATION "${_jitterlab_prefix}/lib/libjitterlab.so.0"
    IMPORTED_SONAME libjitterlab.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${_jitterlab_prefix}/include")
  add_library(jitterlab::static STATIC IMPORTED)
  set_target_properties(jitterlab::static PROPERTIES
    IMPORTED_LOCATION "${_jitterlab_prefix}/lib/libjitterlab.a"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m;gcc_s"
    INTERFACE_INCLUDE_DIRECTORIES "${_jitterlab_prefix}/include")
endif()
unset(_jitterlab_prefix)
