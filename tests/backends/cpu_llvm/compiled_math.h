// Compiles vector functions to machine code for one ISA and calls them on arrays. Includes no LLVM.
#pragma once

#include "backends/cpu/llvm/jit/jit.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cpu_llvm_test {

/// ExpOfNonpositive takes other operands than the rest; see emit_exp_of_nonpositive.
enum class Math {
  Exp,
  Expm1,
  Log,
  Log1p,
  Tanh,
  Sigmoid,
  Erf,
  Atan,
  Sin,
  Cos,
  Pow,
  ExpOfNonpositive
};
inline constexpr Math kOneOperand[] = {Math::Exp,  Math::Expm1,   Math::Log, Math::Log1p,
                                       Math::Tanh, Math::Sigmoid, Math::Erf, Math::Atan,
                                       Math::Sin,  Math::Cos};
const char* name_of(Math function);

/// The ISAs that this machine runs.
std::vector<kiln::cpu::IsaTarget> targets_here();

/// One function of a whole vector register; sizes are multiples of lanes().
class CompiledMath {
 public:
  CompiledMath(Math function, bool is_double, const kiln::cpu::IsaTarget& target);
  std::size_t lanes() const { return lanes_; }
  /// y is read by Pow alone. Subnormal operands and results are zero, as in kernels.
  template <class T>
  void run(const T* x, const T* y, T* result, std::size_t count) const {
    run_bytes(x, y, result, count);
  }
  const kiln::cpu::CompileTexts& texts() const { return texts_; }

 private:
  void run_bytes(const void* x, const void* y, void* result, std::size_t count) const;

  std::size_t lanes_;
  kiln::cpu::CompileTexts texts_;
  std::unique_ptr<kiln::cpu::MachineCode> code_;
  void (*function_)(const void*, const void*, void*, std::size_t);
};

/// A module with one function int(int) that adds the number, compiled: for tests of the linker.
std::unique_ptr<kiln::cpu::MachineCode> compile_adder(const std::string& name, int number);
/// The same with one function double() that gives the number, which is not in its code.
std::unique_ptr<kiln::cpu::MachineCode> compile_constant(const std::string& name, double number);
/// A module whose function calls `callee`, which is an int(int), with the symbols given.
std::unique_ptr<kiln::cpu::MachineCode> compile_caller(
    const std::string& name, const std::string& callee,
    const std::vector<kiln::cpu::RuntimeSymbol>& symbols);
/// A module that makes code generation end in a fatal error of LLVM: an instruction is missing.
std::unique_ptr<kiln::cpu::MachineCode> compile_lacking();
/// A module whose result needs registers that it may not use, which LLVM reports to its context.
std::unique_ptr<kiln::cpu::MachineCode> compile_without_registers();
/// Whether LLVM registered a pass under that argument; code generation registers its own.
bool llvm_has_pass(std::string_view argument);
/// A module that fails verification.
std::unique_ptr<kiln::cpu::MachineCode> compile_invalid();

}  // namespace cpu_llvm_test
