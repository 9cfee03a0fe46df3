/** `vf sample`: replies to one question, and R when a reference is given. */

import type { CommandSettings } from '../config/schema.js';
import type { Question } from '../data/question.js';
import { invalidValue } from '../errors.js';
import { PURPOSE } from '../random.js';
import { type RolloutSettings, sampleGroups } from '../rollout/sample.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { extractBoxed } from '../text/answer.js';
import { closingTag, TEMPLATES } from '../text/template.js';
import { openModel } from './open-model.js';
import { writeOut } from './output.js';
import { prompter } from './question-set.js';

/** Prints the replies; with --json one object. */
export async function runSample(settings: CommandSettings<'sample'>): Promise<void> {
  if (settings.prompt === null || settings.prompt === '') {
    throw invalidValue('--prompt', 'a question', settings.prompt ?? 'nothing', {
      hint: 'vf sample --prompt "What is 3 + 4?"',
    });
  }
  const model = await openModel(settings, { trainable: false });
  const template = settings.raw ? TEMPLATES.raw : model.template;
  const { tokenizer, policy } = model;
  const answers = settings.reference === null ? [] : [settings.reference];
  const question: Question = {
    id: '1',
    question: settings.prompt,
    answers,
    category: '',
    file: '--prompt',
    line: 1,
  };
  const [{ promptIds, patches }] = (await prompter(tokenizer, template)([question])) as [
    { promptIds: Int32Array; patches: Int32Array[] },
  ];
  const longest = Math.max(0, ...patches.map((patch) => patch.length));
  const room = model.folder.spec.maxPositions - promptIds.length - longest;
  const decode = (ids: Int32Array) => tokenizer.decode(ids, { special: true });
  const rollout: RolloutSettings = {
    seed: BigInt(settings.seed),
    purpose: PURPOSE.evaluation,
    maxTokens: Math.max(1, Math.min(settings.maxTokens, room)),
    temperature: settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    eosIds: model.folder.eosIds,
    // With a reference the trace ends at its border and R is scored there; else the reply runs to its closing tag.
    border: patches.length > 0 ? template.border : '',
    forceBorder: settings.forceBorder
      ? (await tokenizer.encodeData([template.border]))[0]!
      : new Int32Array(0),
    stops: settings.raw ? [] : [closingTag(template)],
    maxBatch: settings.maxBatch || 64,
  };
  const request = { question, occurrence: 0, promptIds, patches, samples: settings.samples };
  const { groups } = await sampleGroups(policy, [request], rollout, 0, decode);
  const { traces } = groups[0]!;
  await policy.close();
  if (settings.json) {
    writeOut(
      `${JSON.stringify({ prompt: decode(promptIds), promptIds: [...promptIds], replies: traces.map((trace) => record(trace)) })}\n`,
    );
    return;
  }
  for (const [i, trace] of traces.entries()) writeOut(`${shown(trace, i, traces.length)}\n`);
}

function record(trace: Trajectory) {
  const logReward = trace.answerLogprobs[0]?.reduce((a, b) => a + b, 0) ?? null;
  return {
    text: trace.text,
    ids: [...trace.ids],
    logprobs: [...trace.logprobs],
    finish: trace.finish,
    answer: extractBoxed(trace.text),
    logReward,
    reward: logReward === null ? null : Math.exp(logReward),
  };
}

function shown(trace: Trajectory, index: number, count: number): string {
  const { answer, finish, reward } = record(trace);
  const facts = [
    `${trace.ids.length} tokens`,
    finish,
    ...(answer === null ? [] : [`answer ${answer}`]),
    ...(reward === null ? [] : [`R ${reward.toPrecision(3)}`]),
  ];
  const head = count > 1 ? `— reply ${index + 1} of ${count} · ` : '— ';
  return `${trace.text}\n${head}${facts.join(' · ')}`;
}
