/** y = silu(gate) * up (Shazeer 2020), forward and backward, in float64. */

/** silu(gate) * up, element by element. */
export function swiglu(gate: Float64Array, up: Float64Array): Float64Array {
  return gate.map((g, i) => (g / (1 + Math.exp(-g))) * up[i]!);
}

/** With s = sigmoid(gate): dgate = dy up s (1 + gate (1 - s)), dup = dy gate s. */
export function swigluBackward(
  gate: Float64Array,
  up: Float64Array,
  dy: Float64Array,
): { dgate: Float64Array; dup: Float64Array } {
  const sigmoid = gate.map((g) => 1 / (1 + Math.exp(-g)));
  return {
    dgate: dy.map((g, i) => g * up[i]! * sigmoid[i]! * (1 + gate[i]! * (1 - sigmoid[i]!))),
    dup: dy.map((g, i) => g * gate[i]! * sigmoid[i]!),
  };
}
