# cmake -DBUILD=<build directory> -DSOURCE=<this folder> -DWORK=<scratch directory> -P run.cmake
# Installs, then runs the snippets of two installed pages, with the installed files alone.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}:\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

# run_page(name): runs the page's commands in WORK/name, beside the files that it describes.
function(run_page name)
  set(folder ${WORK}/${name})
  run(awk -v folder=${folder} -f ${SOURCE}/blocks.awk ${documents}/${name}.md)
  run(${CMAKE_COMMAND} -E chdir ${folder} env -i HOME=${WORK} PATH=${prefix}/bin:$ENV{PATH}
    CMAKE_PREFIX_PATH=${prefix} CMAKE_GENERATOR=Ninja CMAKE_BUILD_TYPE=Debug
    PKG_CONFIG_PATH=${prefix}/lib/pkgconfig PREFIX=${prefix} EXAMPLES=${documents}/examples
    sh -eu commands.sh)
  if(EXISTS ${folder}/expected.txt)
    file(STRINGS ${folder}/expected.txt lines)
    foreach(line IN LISTS lines)
      string(FIND "${out}" "${line}" at)
      if(at EQUAL -1)
        message(FATAL_ERROR "${name}.md: \"${line}\" is not printed:\n${out}")
      endif()
    endforeach()
  endif()
endfunction()

set(prefix ${WORK}/moved)
set(documents ${prefix}/share/doc/kiln)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(RENAME ${WORK}/prefix ${prefix})  # nothing installed may name its folder
foreach(private tensor_impl.h formulas_impl.h context_impl.h learning_phase_impl.h)
  if(EXISTS ${prefix}/include/kiln/${private})
    message(FATAL_ERROR "${private} is installed")
  endif()
endforeach()
foreach(file README.md LICENSE train.md examples/char_rnn.cpp ../../man/man1/kiln.1
    ../../man/man1/kiln-run.1)
  if(NOT EXISTS ${documents}/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
file(MAKE_DIRECTORY ${WORK}/backends ${WORK}/installed)
run_page(backends)
file(COPY ${SOURCE}/consumer/main.cpp DESTINATION ${WORK}/installed)
run_page(installed)
run(env -i HOME=${WORK} ${WORK}/installed/build/app ${WORK}/backends/build/libkiln_twice.so)
# A communicator from its header alone, and a program that uses it.
run(c++ -std=c++20 -shared -fPIC -fvisibility=hidden -Wall -Wextra -Wpedantic -Werror
  ${SOURCE}/consumer/tcp_communicator.cpp -I${prefix}/include
  -Wl,--version-script=${prefix}/lib/cmake/kiln/communicator.map -o ${WORK}/libkilncomm_tcp.so)
run(c++ -std=c++20 -Wall -Wextra -Werror ${SOURCE}/consumer/ranks.cpp -I${prefix}/include
  -L${prefix}/lib -lkiln -Wl,-rpath,${prefix}/lib -o ${WORK}/ranks)
run(env -i HOME=${WORK} ${WORK}/ranks ${WORK}/libkilncomm_tcp.so)
