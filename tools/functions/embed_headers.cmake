# The public headers as a table of strings: cmake -DOUTPUT=file -DHEADERS=a.h,b.h -P this file.
string(REPLACE "," ";" HEADERS "${HEADERS}")
set(rows "")
foreach(header IN LISTS HEADERS)
  file(READ ${header} text)
  get_filename_component(name ${header} NAME)
  string(APPEND rows "    {\"kiln/${name}\", R\"header(${text})header\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// The public headers, word for word. Written by the build.
#include \"tools/functions/docs.h\"

namespace kiln::tool {

std::vector<HeaderText> header_texts() {
  return {
${rows}  };
}

}  // namespace kiln::tool
")
