# lgr_library(name sources...): one small static library; the links between them are the architecture.
function(lgr_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC lgr_flags lgr_sanitize)
endfunction()

# lgr_program(name sources...): one of the shipped programs, in build/<preset>/bin.
function(lgr_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE lgr_flags lgr_sanitize)
endfunction()

# lgr_tests(area LIBS libs... SOURCES files...): adds test sources to the executable `<area>_tests`
# (one per top folder, so that link time stays low) and what they link.
function(lgr_tests area)
  cmake_parse_arguments(arg "" "" "LIBS;SOURCES" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(${area}_tests PRIVATE ${arg_SOURCES})
  target_link_libraries(${area}_tests PRIVATE ${arg_LIBS})
endfunction()

# lgr_apart(name): its files are compiled one by one also in unity builds (they share names in their
# anonymous namespaces, e.g. the column numbers of each section of a block).
function(lgr_apart name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()
