# cmake -DBUILD=<build directory> -DSOURCE=<consumer> -DWORK=<scratch directory> -P run.cmake
# Installs, then configures, builds and runs a program against the installed files alone.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}:\n${out}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
foreach(private tensor_impl.h formulas_impl.h context_impl.h learning_phase_impl.h)
  if(EXISTS ${WORK}/prefix/include/kiln/${private})
    message(FATAL_ERROR "${private} is installed")
  endif()
endforeach()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(env -i HOME=${WORK} ${WORK}/build/app ${WORK}/build/libkiln_twice.so)
