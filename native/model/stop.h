// Finds where a completion ends: a border at a token's end, a border that a token ran past, or a stop string.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace vf {

enum class Finish : uint8_t { length = 0, eos = 1, border = 2, overrun = 3, stop = 4 };

struct StopRule {
  std::string border;              // empty: none
  std::vector<std::string> stops;  // found anywhere in the completion's bytes
};

// The bytes of one completion as they come, a token at a time.
class StopMatcher {
 public:
  explicit StopMatcher(const StopRule& rule);
  // True when the completion ends with this token; `finish` and `stop_index` then say how. The match that ends
  // first wins; at the same place the border wins.
  bool push(const std::string& bytes, Finish* finish, int32_t* stop_index);

 private:
  const StopRule* rule_;
  size_t keep_ = 0;  // bytes a later match may still need
  std::string tail_;
};

}  // namespace vf
