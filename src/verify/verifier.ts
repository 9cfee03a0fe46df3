/** The verifier: writes a program for each trace. A local model (the policy itself or a second one) or a server. */

import type { Question } from '../data/question.js';
import { VfError } from '../errors.js';
import type { Policy } from '../native/policy.js';
import { PURPOSE } from '../random.js';
import { type RolloutSettings, sampleGroups } from '../rollout/sample.js';
import { chatTemplate } from '../text/chat.js';
import { promptParts, type Template } from '../text/template.js';
import type { PromptPart, Tokenizer } from '../text/tokenizer.js';
import { hideAnswer, type Prompted } from './prompt.js';
import type { VerifierPrompt } from './tool.js';

/** One trace to write a program for. */
export interface VerifierRequest extends Prompted {
  /** What the tool asks for, in words; a model with texts of its own for this job gets those instead. */
  prompt: VerifierPrompt;
  source: Question;
  /** The question's occurrence in the run and the trace's index: the reply's random stream, never the policy's. */
  occurrence: number;
  sample: number;
}

export interface VerifierReplies {
  /** In the order of the requests. */
  texts: string[];
  promptTokens: number;
  generatedTokens: number;
  seconds: number;
}

export interface Verifier {
  /** For the banner. */
  name: string;
  /** Parameters, for the count of operations; 0 when nobody here knows (a server). */
  parameters: number;
  ask(requests: readonly VerifierRequest[], step: number): Promise<VerifierReplies>;
  close(): Promise<void>;
}

/** The texts around question and trace that a model was taught for this job; `verifier` in its vf.json. */
export interface VerifierTexts {
  before: string;
  between: string;
  after: string;
}

/**
 * The verifier texts that a vf.json states; null when it states none.
 * @throws VF_TEMPLATE when they are not three texts.
 */
export function statedTexts(stated: Readonly<Record<string, unknown>>): VerifierTexts | null {
  const { verifier } = stated;
  if (verifier === undefined) return null;
  const { before, between, after } = (verifier ?? {}) as Record<string, unknown>;
  if (typeof before === 'string' && typeof between === 'string' && typeof after === 'string')
    return { before, between, after };
  throw new VfError(
    'VF_TEMPLATE',
    `Expected texts "before", "between" and "after" for "verifier" in vf.json but received ${JSON.stringify(verifier)}`,
  );
}

export interface PromptForm {
  tokenizer: Tokenizer;
  /** The model's own template; its instruction (how to answer) is left out. */
  template: Template;
  texts: VerifierTexts | null;
  /** Show the trace whole, its answer included (an ablation). */
  showAnswer: boolean;
}

/**
 * A request as prompt parts: in the model's own verifier texts, else its chat template with order and request as one
 * user turn (many templates refuse a system turn), else its training template. Question and trace are data: control
 * tokens written in them don't count.
 */
export function verifierParts(request: VerifierRequest, form: PromptForm): PromptPart[] {
  const { tokenizer, template, texts, showAnswer } = form;
  if (texts !== null) {
    const trace = showAnswer ? request.trace.trim() : hideAnswer(request.trace);
    const parts: PromptPart[] = [
      { literal: texts.before },
      { data: request.question },
      { literal: texts.between },
      { data: trace },
      { literal: texts.after },
    ];
    return parts.filter((part) => ('data' in part ? part.data : part.literal) !== '');
  }
  const chat = tokenizer.chatTemplate === undefined ? null : chatTemplate(tokenizer);
  const { system, user } = request.prompt;
  return promptParts({ ...template, ...chat, instruction: '' }, `${system}\n\n${user}`);
}

export interface LocalVerifierOptions {
  name: string;
  policy: Policy;
  form: PromptForm;
  eosIds: readonly number[];
  settings: Pick<RolloutSettings, 'seed' | 'maxTokens' | 'temperature' | 'maxBatch'>;
  /** Whether `close` closes the policy too (it is not the one being trained). */
  owned: boolean;
}

/** A verifier that samples one reply a trace from a model in this process, from the verifier's random streams. */
export function localVerifier(options: LocalVerifierOptions): Verifier {
  const { policy, form, settings } = options;
  return {
    name: options.name,
    parameters: policy.info.parameters,
    async ask(requests, step) {
      const started = performance.now();
      const prompts = await form.tokenizer.encodePrompts(
        requests.map((request) => verifierParts(request, form)),
      );
      const { groups, stats } = await sampleGroups(
        policy,
        requests.map(({ source, occurrence, sample }, i) => ({
          question: source,
          occurrence,
          promptIds: prompts[i]!,
          patches: [],
          samples: 1,
          firstSample: sample,
        })),
        {
          ...settings,
          purpose: PURPOSE.verifier,
          topP: 1,
          topK: 0,
          eosIds: options.eosIds,
          border: '',
          forceBorder: new Int32Array(0),
          stops: [],
        },
        step,
        (ids) => form.tokenizer.decode(ids),
      );
      return {
        texts: groups.map((group) => group.traces[0]!.text),
        promptTokens: stats.prefillTokens,
        generatedTokens: stats.decodeTokens,
        seconds: (performance.now() - started) / 1000,
      };
    },
    close: async () => {
      if (options.owned) await policy.close();
    },
  };
}
