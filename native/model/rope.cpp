// Rotary position tables (rope.h).
#include "rope.h"

#include <cmath>

namespace vf {
namespace {

constexpr double pi = 3.14159265358979323846;

// llama3: long wavelengths are divided by the factor, short ones kept, those between interpolated.
double llama3_frequency(const Spec& spec, double frequency) {
  const double wavelength = 2 * pi / frequency;
  const double low_wavelength = spec.rope_original_positions / spec.rope_low_freq_factor;
  const double high_wavelength = spec.rope_original_positions / spec.rope_high_freq_factor;
  if (wavelength < high_wavelength) return frequency;
  if (wavelength > low_wavelength) return frequency / spec.rope_factor;
  const double smooth = (spec.rope_original_positions / wavelength - spec.rope_low_freq_factor) /
                        (spec.rope_high_freq_factor - spec.rope_low_freq_factor);
  return (1 - smooth) * frequency / spec.rope_factor + smooth * frequency;
}

}  // namespace

RopeTables rope_tables(const Spec& spec, int32_t positions) {
  const int32_t half = spec.head_dim / 2;
  RopeTables tables;
  tables.cos.resize(static_cast<size_t>(positions) * half);
  tables.sin.resize(tables.cos.size());
  for (int32_t i = 0; i < half; i++) {
    double frequency = std::pow(spec.rope_theta, -2.0 * i / spec.head_dim);
    if (spec.rope_scaling == RopeScaling::linear) frequency /= spec.rope_factor;
    if (spec.rope_scaling == RopeScaling::llama3) frequency = llama3_frequency(spec, frequency);
    for (int32_t p = 0; p < positions; p++) {
      const size_t at = static_cast<size_t>(p) * half + i;
      tables.cos[at] = static_cast<float>(std::cos(p * frequency));
      tables.sin[at] = static_cast<float>(std::sin(p * frequency));
    }
  }
  return tables;
}

}  // namespace vf
