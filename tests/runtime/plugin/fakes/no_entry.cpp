// A shared library that is no plugin.
extern "C" __attribute__((visibility("default"))) int kiln_backend_question() { return 0; }
