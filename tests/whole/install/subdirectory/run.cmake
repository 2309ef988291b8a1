# cmake -DKILN=<Kiln's sources> -DSOURCE=<this folder> -DGENERATOR=<of CMake> -DWORK=<scratch>
#   -P run.cmake
# Configures a project that has Kiln as a folder. Its program builds the backends that Kiln opens at
# run time; nothing of Kiln is installed unless KILN_INSTALL asks for it.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}:\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK}/build -DKILN=${KILN}
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_SUPPRESS_REGENERATION=ON)
# -n: prints what would be run.
run(${CMAKE_COMMAND} --build ${WORK}/build --target app -- -n)
foreach(library libkiln.so libkiln_cpu.so libkiln_reference.so)
  if(NOT out MATCHES "${library}")
    message(FATAL_ERROR "${library} is not built for a program that links to kiln::kiln:\n${out}")
  endif()
endforeach()
if(out MATCHES "test_structure|char_rnn")
  message(FATAL_ERROR "tests or examples are built for a program that links to kiln::kiln")
endif()

# Nothing is built, so that rules for what Kiln installs would end with an error.
run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
file(GLOB_RECURSE installed ${WORK}/prefix/*)
if(installed)
  message(FATAL_ERROR "Kiln as a folder installs ${installed}")
endif()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DKILN_INSTALL=ON)
file(GLOB_RECURSE scripts ${WORK}/build/kiln/*cmake_install.cmake)
set(rules)
foreach(script IN LISTS scripts)
  file(STRINGS ${script} found REGEX "libkiln(_cpu|_reference)?\\.so")
  list(APPEND rules ${found})
endforeach()
foreach(library libkiln.so libkiln_cpu.so libkiln_reference.so)
  if(NOT rules MATCHES "${library}")
    message(FATAL_ERROR "KILN_INSTALL=ON does not install ${library}")
  endif()
endforeach()
