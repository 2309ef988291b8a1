# Run when a test program is linked: writes FILE, by which ctest knows each of its test cases under
# the label of its tags, and `cuda` in the folders of that backend, `distributed` in those of groups
# of ranks: ctest adds up the times of a label. Arguments: PROGRAM, PREFIX, FILE, CATCH_VERSION.
set(listing --list-tests --verbosity quiet)
if(CATCH_VERSION VERSION_LESS 3)
  set(listing --list-test-names-only)
endif()
set(written "")
set(labelled 0)

# Sets `names` to those lines and `count` to their number. A program may have no tests of a kind.
function(kiln_list_tests tags)
  execute_process(COMMAND ${PROGRAM} ${tags} ${listing} OUTPUT_VARIABLE names
    RESULT_VARIABLE status)
  string(REGEX MATCHALL "\n" ends "${names}")
  list(LENGTH ends count)
  set(expected 0)
  if(CATCH_VERSION VERSION_LESS 3)
    set(expected ${count})  # 2.13 ends with the number of test cases, with 255 for more
    if(count GREATER 255)
      set(expected 255)
    endif()
  endif()
  if(NOT status STREQUAL expected)
    message(FATAL_ERROR "${PROGRAM} ${tags} ${listing} ended with ${status}: ${names}")
  endif()
  set(names "${names}" PARENT_SCOPE)
  set(count ${count} PARENT_SCOPE)
endfunction()

function(kiln_label_tests label tags)
  kiln_list_tests("${tags}")
  if(PREFIX MATCHES "^cuda")
    string(APPEND label ";cuda")
  elseif(PREFIX STREQUAL "mpi/")
    string(APPEND label ";distributed")
  endif()
  math(EXPR labelled "${labelled} + ${count}")
  set(labelled ${labelled} PARENT_SCOPE)
  # Line by line: as a list, names would lose their semicolons and brackets.
  while(names MATCHES "^([^\n]+)\n(.*)$")
    set(name "${CMAKE_MATCH_1}")
    set(names "${CMAKE_MATCH_2}")
    string(REGEX REPLACE "([][\\,])" "\\\\\\1" pattern "${name}")
    string(APPEND written "add_test([==[${PREFIX}${name}]==] [==[${PROGRAM}]==] "
      "[==[${pattern}]==])\nset_tests_properties([==[${PREFIX}${name}]==] "
      "PROPERTIES LABELS \"${label}\" TIMEOUT 1200)\n")
  endwhile()
  set(written "${written}" PARENT_SCOPE)
endfunction()

kiln_label_tests(fast "~[slow]~[gpu]~[matrix]~[concurrency]~[.]")
kiln_label_tests(fast_concurrency "[concurrency]~[slow]~[gpu]~[matrix]")
kiln_label_tests(slow "[slow]~[gpu]~[matrix]")
kiln_label_tests(gpu "[gpu]~[matrix]")
kiln_label_tests(matrix "[matrix]")
kiln_list_tests("~[.]")
if(NOT labelled EQUAL count OR count EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} has ${count} tests, ${labelled} of them under a label")
endif()
file(WRITE ${FILE} "${written}")
