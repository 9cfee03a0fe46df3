// Coded errors: the only way in which native code fails. The addon turns them into VfError.
#pragma once
#include <stdexcept>
#include <string>

namespace vf {

class Error : public std::runtime_error {
 public:
  // code: "VF_…"; message: what was expected and what came.
  Error(std::string code, const std::string& message) : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
};

inline void require(bool ok, const char* code, const std::string& message) {
  if (!ok) throw Error(code, message);
}

}  // namespace vf
