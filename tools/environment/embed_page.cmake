# The page as a string: cmake -DOUTPUT=file -DPAGE=environment.md -P this file.
file(READ ${PAGE} text)
file(WRITE ${OUTPUT} "// The page, word for word. Written by the build.
#include \"tools/environment/environment_page.h\"

namespace kiln::tool {

std::string_view environment_page() {
  return R\"page(${text})page\";
}

}  // namespace kiln::tool
")
