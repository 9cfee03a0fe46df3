/** The library: what a program may import from `vf-rl`. */

export { filterQuestions } from './data/filter.js';
export { loadQuestions, readQuestions } from './data/load.js';
export { makeOrder } from './data/order.js';
export type { Question } from './data/question.js';
export { VfError } from './errors.js';
export { evaluateQuestions, evaluationMetrics } from './eval/evaluate.js';
export { loadModelFolder } from './model/folder.js';
export { saveModelFolder } from './model/save.js';
export { Policy } from './native/policy.js';
export type * from './native/types.js';
export type { Objective, StepPlan } from './objective/objective.js';
export { type VeriFreeOptions, verifree } from './objective/verifree.js';
export { type VoteOptions, vote } from './objective/vote.js';
export { type RolloutRequest, type RolloutSettings, sampleGroups } from './rollout/sample.js';
export type { Group, Trajectory } from './rollout/trajectory.js';
export type { RunEvent } from './run/events.js';
export { type ModelPlace, resolveModelPath } from './run/folder.js';
export { extractBoxed, extractChoice } from './text/answer.js';
export { canonical, equal } from './text/equal.js';
export { checkBorder, encodePatches, requireBorder } from './text/patch.js';
export { promptParts, resolveTemplate, TEMPLATES, type Template } from './text/template.js';
export { openTokenizer, type Tokenizer } from './text/tokenizer.js';
export { packGroups } from './train/batch.js';
export { type LoopParts, runLoop } from './train/loop.js';
export { type TraceChecker, traceChecker } from './verify/checker.js';
export { type Ballot, type Tally, type TallyOptions, tally, voteRewards } from './verify/tally.js';
