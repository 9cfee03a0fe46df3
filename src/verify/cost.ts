/** Tokens, seconds and floating-point operations of a TTRL iteration, by phase, with the formula that counts them. */

/** How the operations are counted; printed beside every figure made with it. */
export const FLOPS_FORMULA =
  'policy and verifier: 2·N·(prompt + generated tokens); training: 6·N·trained tokens, + 2·N·trained tokens for each extra forward pass (old and reference log-probs); N = parameters';

export interface PhaseCost {
  /** Parameters of the model that did it. */
  parameters: number;
  /** Prompt tokens that were computed (a shared prompt counts once). */
  promptTokens: number;
  generatedTokens: number;
  seconds: number;
}

export interface TrainingCost {
  parameters: number;
  trainedTokens: number;
  /** Forward passes beside the training pass: old log-probs, reference log-probs. */
  extraForwards: number;
  seconds: number;
}

/** Operations of a sampling phase: 2·N·(prompt + generated). */
export function samplingFlops(cost: PhaseCost): number {
  return 2 * cost.parameters * (cost.promptTokens + cost.generatedTokens);
}

/** Operations of a training phase: (6 + 2·extraForwards)·N·tokens. */
export function trainingFlops(cost: TrainingCost): number {
  return (6 + 2 * cost.extraForwards) * cost.parameters * cost.trainedTokens;
}

/** Flat `cost/…` metrics of one iteration; `executeSeconds` is the tool's own time. */
export function costMetrics(parts: {
  policy: PhaseCost;
  verifier: PhaseCost | null;
  training: TrainingCost;
  executeSeconds: number;
}): Record<string, number> {
  const { policy, verifier, training } = parts;
  const rows: Record<string, number> = {
    'cost/policy_prompt_tokens': policy.promptTokens,
    'cost/policy_tokens': policy.generatedTokens,
    'cost/policy_seconds': policy.seconds,
    'cost/policy_flops': samplingFlops(policy),
    'cost/trained_tokens': training.trainedTokens,
    'cost/training_seconds': training.seconds,
    'cost/training_flops': trainingFlops(training),
    'cost/execute_seconds': parts.executeSeconds,
  };
  if (verifier !== null) {
    rows['cost/verifier_prompt_tokens'] = verifier.promptTokens;
    rows['cost/verifier_tokens'] = verifier.generatedTokens;
    rows['cost/verifier_seconds'] = verifier.seconds;
    rows['cost/verifier_flops'] = samplingFlops(verifier);
  }
  return rows;
}
