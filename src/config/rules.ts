/** Rules between settings: combinations that can't work are refused with the reason, derived values are filled in. */

import { VfError } from '../errors.js';
import type { Value } from './option.js';
import type { CommandName } from './schema.js';

type Values = Record<string, Value>;

/** Checks `values` and fills in what follows from others (origin `rule`). Returns the problems. */
export function checkRules(command: CommandName, values: Values, origins: Record<string, string>): VfError[] {
  const problems: VfError[] = [];
  const refuse = (when: boolean, message: string, hint: string) => {
    if (when) problems.push(new VfError('VF_CONFIG_RULE', message, { hint }));
  };
  if (command === 'train' || command === 'ttrl') {
    checkSampling(values, refuse);
    deriveClip(values, origins);
  }
  if (command === 'train') {
    deriveBaseline(values, origins, refuse);
    checkVerifree(values, refuse);
  }
  if (command === 'ttrl') checkVotes(values, refuse);
  refuse(
    command === 'eval' && values.temperature === 0 && (values.samples as number) > 1,
    `temperature 0 makes all ${values.samples} replies of a question equal`,
    'give a --temperature above 0, or --samples 1',
  );
  if ('warmup' in values) {
    const { warmup, steps } = values as { warmup: number; steps: number };
    const hint = 'lower --warmup or raise --steps';
    refuse(warmup > steps, `warmup of ${warmup} steps is longer than the run's ${steps}`, hint);
  }
  refuse(
    values.resume === true && values.force === true,
    '--resume continues a run and --force deletes it',
    'give one of them',
  );
  return problems;
}

type Refuse = (when: boolean, message: string, hint: string) => void;

function checkSampling(values: Values, refuse: Refuse): void {
  refuse(
    values.temperature === 0,
    'temperature 0 makes all traces of a group equal, so that none has an advantage',
    'train with --temperature 1',
  );
  refuse(
    (values['top-p'] as number) < 1 || (values['top-k'] as number) > 0,
    'top-p below 1 or top-k above 0 samples from another distribution than the one that is trained',
    'leave --top-p and --top-k out in training; they are for evaluation and vf sample',
  );
  const perStep = values['prompts-per-step'] as number;
  refuse(
    (values['mini-batches'] as number) > perStep,
    `${values['mini-batches']} mini-batches of whole groups can't be made of ${perStep} questions a step`,
    'lower --mini-batches or raise --prompts-per-step',
  );
}

/** Appendix B: a clip of 0.2 once a step has more than one update; with one, the ratio is 1 by definition. */
function deriveClip(values: Values, origins: Record<string, string>): void {
  if (values.clip !== 'auto') return;
  const updates = (values.epochs as number) * (values['mini-batches'] as number);
  values.clip = updates > 1 ? 0.2 : 'none';
  origins.clip = 'rule';
}

/** What a baseline fixes: its reward and answer weight; the verifier's Dr. GRPO advantage and divisor where left open. */
function deriveBaseline(values: Values, origins: Record<string, string>, refuse: Refuse): void {
  const fixed: Record<string, Record<string, Value>> = {
    jlb: { reward: 'logp', 'answer-weight': 'one' },
    latro: { reward: 'logp', 'answer-weight': 'one' },
  };
  const open: Record<string, Record<string, Value>> = {
    verifier: { advantage: 'mean', 'length-norm': 'max_tokens' },
  };
  const objective = values.objective as string;
  for (const [name, value] of Object.entries({ ...fixed[objective], ...open[objective] })) {
    const free =
      origins[name] === 'default' || origins[name] === 'rule' || origins[name]?.startsWith('preset');
    if (free) {
      values[name] = value;
      origins[name] = 'rule';
    } else if (fixed[objective]?.[name] !== undefined) {
      refuse(
        values[name] !== value,
        `--objective ${objective} is defined by ${name} ${value}, not ${values[name]}`,
        `leave --${name} out, or use --objective verifree`,
      );
    }
  }
}

function checkVerifree(values: Values, refuse: Refuse): void {
  const { advantage, reward } = values;
  refuse(
    values['group-size'] === 1 && (advantage === 'rloo' || advantage === 'mean'),
    `a group of 1 has no other trace to be the baseline of advantage ${advantage}`,
    'use --group-size 2 or more, or --advantage none',
  );
  refuse(
    reward === 'logp' && values['reward-exponent'] !== 1,
    'reward logp takes no exponent: it would change the sign of its order',
    'leave --reward-exponent out, or use --reward p',
  );
}

function checkVotes(values: Values, refuse: Refuse): void {
  const { votes, omega, tool, verifier } = values;
  const kept = values['train-samples'] as number;
  refuse(
    kept > (votes as number),
    `${kept} traces can't be trained on when only ${votes} vote`,
    'lower --train-samples or raise --votes',
  );
  refuse(
    tool === 'none' && omega !== 1,
    `omega ${omega} weighs verified votes, and with --tool none nothing is verified`,
    'use --tool python or smt, or --omega 1',
  );
  refuse(
    verifier === 'rules' && tool !== 'smt',
    `--verifier rules translates puzzles for --tool smt, not for --tool ${tool}`,
    'use --tool smt, or --verifier self',
  );
}
