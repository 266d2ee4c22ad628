# Tests of programs under Foretrace. In CMakeLists.txt, after enable_testing():
#
#   include(cmake/Foretrace.cmake)
#   foretrace_add_test(NAME queue COMMAND queue_test --quick)
#
# With the preset `foretrace` the test records and predicts; without it, it is an ordinary test.
# A test whose result is not certain (status 3) counts as skipped.
option(FORETRACE "Run tests under Foretrace" OFF)

function(foretrace_add_test)
  cmake_parse_arguments(ARG "" "NAME" "COMMAND;OPTIONS" ${ARGN})
  if(NOT FORETRACE)
    add_test(NAME ${ARG_NAME} COMMAND ${ARG_COMMAND})
    return()
  endif()
  list(POP_FRONT ARG_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(report ${CMAKE_CURRENT_BINARY_DIR}/foretrace/${ARG_NAME})
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/foretrace)
  add_test(NAME foretrace.${ARG_NAME}
    COMMAND foretrace test --budget 60s --output text --output json=${report}.json
      --output sarif=${report}.sarif ${ARG_OPTIONS} -- ${program} ${ARG_COMMAND}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(foretrace.${ARG_NAME} PROPERTIES SKIP_RETURN_CODE 3)
endfunction()
