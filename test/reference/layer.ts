/** One transformer block over one plain sequence, forward and backward, in float64. */

import type { ModelSpec } from '../../src/native/types.js';
import { attention, attentionBackward } from './attention.js';
import { addTo } from './compare.js';
import { linear, linearBackward } from './linear.js';
import { tensorOf, type Weights } from './parameters.js';
import { rmsNorm, rmsNormBackward } from './rms-norm.js';
import { ropeFrequencies, rotate } from './rope.js';
import { swiglu, swigluBackward } from './swiglu.js';

/** What the backward pass needs again. */
export interface LayerTape {
  x: Float64Array;
  normed: Float64Array;
  projected: { q: Float64Array; k: Float64Array };
  q: Float64Array;
  k: Float64Array;
  v: Float64Array;
  probs: Float64Array;
  mixed: Float64Array;
  middle: Float64Array;
  middleNormed: Float64Array;
  gate: Float64Array;
  up: Float64Array;
  activated: Float64Array;
}

/** y = h + MLP(norm(h)) with h = x + attention(norm(x)); x and y are [rows, hidden]. */
export function layerForward(
  spec: ModelSpec,
  weights: Weights,
  index: number,
  x: Float64Array,
): { y: Float64Array; tape: LayerTape } {
  const rows = x.length / spec.hidden;
  const name = (suffix: string) => `model.layers.${index}.${suffix}`;
  const get = (suffix: string) => tensorOf(weights, name(suffix));
  const project = (suffix: string, from: Float64Array) => {
    const w = get(`${suffix}.weight`);
    const inner = from.length / rows;
    return linear({ rows, in: inner, out: w.length / inner }, from, w, weights.get(name(`${suffix}.bias`)));
  };
  const frequencies = ropeFrequencies(spec);
  const turned = (which: 'q' | 'k', from: Float64Array) =>
    rotate(
      spec.qkNorm ? rmsNorm(from, get(`self_attn.${which}_norm.weight`), spec.rmsEps) : from,
      rows,
      frequencies,
      1,
    );

  const normed = rmsNorm(x, get('input_layernorm.weight'), spec.rmsEps);
  const projected = { q: project('self_attn.q_proj', normed), k: project('self_attn.k_proj', normed) };
  const v = project('self_attn.v_proj', normed);
  const q = turned('q', projected.q);
  const k = turned('k', projected.k);
  const { out: mixed, probs } = attention({ ...spec, rows }, q, k, v);
  const middle = x.slice();
  addTo(middle, project('self_attn.o_proj', mixed));

  const middleNormed = rmsNorm(middle, get('post_attention_layernorm.weight'), spec.rmsEps);
  const gate = project('mlp.gate_proj', middleNormed);
  const up = project('mlp.up_proj', middleNormed);
  const activated = swiglu(gate, up);
  const y = middle.slice();
  addTo(y, project('mlp.down_proj', activated));
  return {
    y,
    tape: { x, normed, projected, q, k, v, probs, mixed, middle, middleNormed, gate, up, activated },
  };
}

/** From dy the gradient of x; the gradients of the weights are added to `gradients`. */
export function layerBackward(
  spec: ModelSpec,
  weights: Weights,
  index: number,
  tape: LayerTape,
  dy: Float64Array,
  gradients: Weights,
): Float64Array {
  const rows = tape.x.length / spec.hidden;
  const name = (suffix: string) => `model.layers.${index}.${suffix}`;
  const unproject = (suffix: string, x: Float64Array, dout: Float64Array) => {
    const w = tensorOf(weights, name(`${suffix}.weight`));
    const inner = x.length / rows;
    const { dx, dw, dbias } = linearBackward({ rows, in: inner, out: w.length / inner }, x, w, dout);
    addTo(tensorOf(gradients, name(`${suffix}.weight`)), dw);
    const bias = gradients.get(name(`${suffix}.bias`));
    if (bias) addTo(bias, dbias);
    return dx;
  };
  const unnorm = (suffix: string, x: Float64Array, dout: Float64Array) => {
    const { dx, dweight } = rmsNormBackward(x, tensorOf(weights, name(suffix)), spec.rmsEps, dout);
    addTo(tensorOf(gradients, name(suffix)), dweight);
    return dx;
  };
  const frequencies = ropeFrequencies(spec);
  const unturned = (which: 'q' | 'k', dout: Float64Array) => {
    const back = rotate(dout, rows, frequencies, -1);
    return spec.qkNorm ? unnorm(`self_attn.${which}_norm.weight`, tape.projected[which], back) : back;
  };

  const dactivated = unproject('mlp.down_proj', tape.activated, dy);
  const { dgate, dup } = swigluBackward(tape.gate, tape.up, dactivated);
  const dmiddleNormed = unproject('mlp.gate_proj', tape.middleNormed, dgate);
  addTo(dmiddleNormed, unproject('mlp.up_proj', tape.middleNormed, dup));
  const dmiddle = dy.slice();
  addTo(dmiddle, unnorm('post_attention_layernorm.weight', tape.middle, dmiddleNormed));

  const dmixed = unproject('self_attn.o_proj', tape.mixed, dmiddle);
  const { dq, dk, dv } = attentionBackward({ ...spec, rows }, tape.q, tape.k, tape.v, tape.probs, dmixed);
  const dnormed = unproject('self_attn.q_proj', tape.normed, unturned('q', dq));
  addTo(dnormed, unproject('self_attn.k_proj', tape.normed, unturned('k', dk)));
  addTo(dnormed, unproject('self_attn.v_proj', tape.normed, dv));
  const dx = dmiddle.slice();
  addTo(dx, unnorm('input_layernorm.weight', tape.x, dnormed));
  return dx;
}
