// Stops (stop.h).
#include "stop.h"

#include <algorithm>

namespace vf {

StopMatcher::StopMatcher(const StopRule& rule) : rule_(&rule) {
  keep_ = rule.border.size();
  for (const std::string& stop : rule.stops) keep_ = std::max(keep_, stop.size());
}

bool StopMatcher::push(const std::string& bytes, Finish* finish, int32_t* stop_index) {
  if (keep_ == 0 || bytes.empty()) return false;
  const size_t before = tail_.size();
  tail_ += bytes;
  size_t best = std::string::npos;
  // End of the first match that ends within the new bytes.
  const auto match_end = [&](const std::string& what) {
    const size_t from = before + 1 > what.size() ? before + 1 - what.size() : 0;
    const size_t at = tail_.find(what, from);
    return at == std::string::npos ? at : at + what.size();
  };
  if (!rule_->border.empty()) {
    best = match_end(rule_->border);
    if (best != std::string::npos) {
      *finish = best == tail_.size() ? Finish::border : Finish::overrun;
      *stop_index = -1;
    }
  }
  for (size_t i = 0; i < rule_->stops.size(); i++) {
    const size_t end = match_end(rule_->stops[i]);
    if (end != std::string::npos && (best == std::string::npos || end < best)) {
      best = end;
      *finish = Finish::stop;
      *stop_index = static_cast<int32_t>(i);
    }
  }
  if (tail_.size() > keep_) tail_.erase(0, tail_.size() - keep_);
  return best != std::string::npos;
}

}  // namespace vf
