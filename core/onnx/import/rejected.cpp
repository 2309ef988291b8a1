// The operators that are not imported since Kiln has no type for their operands or results.
#include "core/onnx/import/groups.h"

namespace kiln::onnx {
namespace {

constexpr std::string_view kTexts = "it takes or makes texts, which tensors of Kiln cannot hold";
constexpr std::string_view kSequences =
    "it takes or makes a sequence of tensors, which is no tensor";
constexpr std::string_view kOptionals = "it takes or makes an optional, which is no tensor";

constexpr OperatorRow kRejectedRows[] = {
    {"ConcatFromSequence", {11}, nullptr, kSequences},
    {"ImageDecoder", {20}, nullptr, "it decodes files of images; decode them before the call"},
    {"Optional", {15, 28}, nullptr, kOptionals},
    {"OptionalGetElement", {15, 18, 28}, nullptr, kOptionals},
    {"OptionalHasElement", {15, 18, 28}, nullptr, kOptionals},
    {"RegexFullMatch", {20}, nullptr, kTexts},
    {"SequenceAt", {11}, nullptr, kSequences},
    {"SequenceConstruct", {11}, nullptr, kSequences},
    {"SequenceEmpty", {11}, nullptr, kSequences},
    {"SequenceErase", {11}, nullptr, kSequences},
    {"SequenceInsert", {11}, nullptr, kSequences},
    {"SequenceLength", {11}, nullptr, kSequences},
    {"SequenceMap", {17}, nullptr, kSequences},
    {"SplitToSequence", {11, 24}, nullptr, kSequences},
    {"StringConcat", {20}, nullptr, kTexts},
    {"StringNormalizer", {10}, nullptr, kTexts},
    {"StringSplit", {20}, nullptr, kTexts},
    {"TfIdfVectorizer", {9}, nullptr, "it counts sequences of words of texts"},
};

}  // namespace

std::span<const OperatorRow> rejected_operators() { return kRejectedRows; }

}  // namespace kiln::onnx
