// Forms of weights: the identities of tensors that plans of different sizes share.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace kiln::codegen {

/// A weight as one layout of bytes: a packed operand, or the results of cached steps with their
/// sizes. Immutable.
struct WeightForm {
  /// Whether this is the form of that key whose packer packs like `other` (both null: the key
  /// decides).
  bool is_of(std::span<const std::int64_t> other_key, const Packer* other) const {
    return std::equal(other_key.begin(), other_key.end(), key.begin(), key.end()) &&
           (other ? packer && other->packs_like(*packer) : !packer);
  }

  std::size_t number = 0;                // unique among the forms that exist, and small
  std::uint64_t identity = 0;            // unique for ever
  std::vector<std::int64_t> key;         // what is packed or computed
  std::shared_ptr<const Packer> packer;  // null for results of cached steps
  std::int64_t bytes = 0;
};

/// The forms that bound plans refer to. Thread-safe.
class WeightForms {
 public:
  virtual ~WeightForms() = default;
  WeightForms() = default;
  WeightForms(const WeightForms&) = delete;
  WeightForms& operator=(const WeightForms&) = delete;

  /// The form of `key` and `packer` (WeightForm::is_of), created if no plan has one. REQUIRES: the
  /// object outlives the form.
  std::shared_ptr<const WeightForm> of(std::span<const std::int64_t> key, std::int64_t bytes,
                                       const std::shared_ptr<const Packer>& packer);

 private:
  struct Entry {
    const WeightForm* form;  // alive, as its removal locks the mutex
    std::weak_ptr<const WeightForm> owned;
  };
  using ByHash = std::unordered_multimap<std::uint64_t, Entry>;

  /// Called when the last plan with the form is gone, before its number is free.
  virtual void forget(const WeightForm& /*form*/) {}
  void remove(const WeightForm* form, std::uint64_t hash);
  std::shared_ptr<const WeightForm> find(std::uint64_t hash, std::span<const std::int64_t> key,
                                         const Packer* packer) const;

  std::mutex mutex_;
  ByHash by_hash_;
  std::vector<std::size_t> free_;  // numbers
  std::size_t count_ = 0;  // of numbers, used and free
  std::uint64_t created_ = 0;
};

}  // namespace kiln::codegen
