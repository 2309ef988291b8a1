// Functions that the cuDNN of this folder exports besides NVIDIA's: failures on demand, and counts
// for tests. Thread-safe.
#pragma once

#include <cstddef>

extern "C" {

/// Makes the nth call from now on (1: the next one; 0: every call) of NVIDIA's `function` return
/// the cudnnStatus_t `status`. Only functions that destroy something do their work nevertheless.
/// Returns 0 for an unknown function.
int fake_cudnn_fail(const char* function, int nth, int status);

/// Makes every plan unsupported (1) or as its engine is (0).
void fake_cudnn_reject_plans(int rejects);

/// Forgets failures and rejections.
void fake_cudnn_reset();

/// How often the function was called; -1 for an unknown function.
int fake_cudnn_calls(const char* function);

/// Handles and descriptors that were created and not destroyed.
std::size_t fake_cudnn_objects();

/// Convolutions that were queued with a workspace.
int fake_cudnn_workspaces();

/// The engine of the convolution that was queued last, as kiln::fake_cudnn::Engine has it.
int fake_cudnn_engine();
}
