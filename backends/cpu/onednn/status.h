// Describes statuses of oneDNN calls and the version of oneDNN, without its headers.
#pragma once

#include <string>

namespace kiln::cpu {

std::string status_text(int status);

/// Throws sdk::Failure for a status that is not 0; its code is RESOURCE_EXHAUSTED where the status
/// says that memory is exhausted.
[[noreturn]] void fail_with(int status, const std::string& where);

/// The version of oneDNN that is loaded, "2.6.3".
std::string onednn_version();
/// The version and dnnl_cpu_isa_t of the code that oneDNN generates, by which its bits may differ:
/// "oneDNN 2.6.3 of ISA 7". ONEDNN_MAX_CPU_ISA and the processor decide; fixed by the first call.
std::string onednn_machine();

}  // namespace kiln::cpu
