/** Who checks the traces of `vf ttrl`, and with what: verifier, tool and sandbox as the settings name them. */

import { join } from 'node:path';
import type { Resolved } from '../config/resolve.js';
import { VfError } from '../errors.js';
import { RUN_FILES } from '../run/folder.js';
import type { RunStore } from '../run/store.js';
import { canonical } from '../text/equal.js';
import { type TraceChecker, traceChecker } from '../verify/checker.js';
import { openServer } from '../verify/openai.js';
import type { HardcodedRule } from '../verify/program.js';
import { pythonTool } from '../verify/python.js';
import { openSandbox, type Sandbox, sandboxLine } from '../verify/sandbox.js';
import { smtTool } from '../verify/smt.js';
import type { Tool } from '../verify/tool.js';
import { openRunCache } from '../verify/verdicts.js';
import { localVerifier, statedTexts, type Verifier } from '../verify/verifier.js';
import { DEFAULT_BATCH } from './batch-sizes.js';
import type { OpenModel } from './open-model.js';
import { type Frozen, openFrozen } from './training-parts.js';

type Settings = Resolved<'ttrl'>['settings'];

const HARDCODED: Readonly<Record<Settings['hardcodedCheck'], HardcodedRule>> = {
  reject: 'zero',
  count: 'count',
  off: 'off',
};

const SERVER = 'openai:';

/** A tool that is open, and what to say of it. */
export interface OpenTool {
  tool: Tool;
  /** For the banner. */
  line: string;
  sandbox: Sandbox | null;
}

/** Whether traces are checked at all: at ω = 1 only when asked to, for the metrics. */
export function checksTraces(settings: Settings): boolean {
  return settings.tool !== 'none' && (settings.omega !== 1 || settings.verifyAlways);
}

/**
 * The tool of `--tool`, before any model is loaded: where the machine lacks a sandbox, nothing else is tried.
 * @throws VfError (exit code 3) with the remedies when there is no sandbox.
 */
export async function openTool(settings: Settings, runFolder: string): Promise<OpenTool | null> {
  if (!checksTraces(settings)) return null;
  const { showAnswer, sandboxRetries } = settings;
  if (settings.tool === 'smt') {
    const encoder = settings.verifier === 'rules' ? 'rules' : 'model';
    const tool = smtTool({ encoder, showAnswer, maxSolverErrors: sandboxRetries });
    const by = encoder === 'rules' ? 'encoding by built-in rules' : 'encoding by the verifier';
    return { tool, line: `smt: z3 in a thread, limited by its resource count; ${by}`, sandbox: null };
  }
  const sandbox = await openSandbox({ kind: settings.sandbox });
  const tool = pythonTool({
    sandbox,
    canonical,
    cache: openRunCache(join(runFolder, RUN_FILES.verdicts)),
    hardcoded: HARDCODED[settings.hardcodedCheck],
    showAnswer,
    maxSandboxErrors: sandboxRetries,
  });
  return { tool, line: `python: ${sandboxLine(sandbox.report)}`, sandbox };
}

/** A checker that is open, its verifier, and what to say of both. */
export interface OpenChecker {
  checker: TraceChecker;
  verifier: Verifier | null;
  /** The verifier's own model, when it is neither the policy nor a server. */
  frozen: Frozen | null;
  /** For the banner. */
  line: string;
}

/** The verifier of `--verifier` (none where the tool needs none) with an open tool. */
export async function openChecker(
  settings: Settings,
  policy: OpenModel,
  { tool, line }: OpenTool,
  store: RunStore,
): Promise<OpenChecker> {
  if (!tool.needsVerifier) return { checker: traceChecker(tool, null), verifier: null, frozen: null, line };
  const { verifier, frozen } = await openVerifier(settings, policy, tool, store);
  const { verifierTemperature, verifierMaxTokens } = settings;
  return {
    checker: traceChecker(tool, verifier),
    verifier,
    frozen,
    line: `${verifier.name}, T ${verifierTemperature}, ≤ ${verifierMaxTokens} tokens; ${line}`,
  };
}

async function openVerifier(
  settings: Settings,
  policy: OpenModel,
  tool: Tool,
  store: RunStore,
): Promise<{ verifier: Verifier; frozen: Frozen | null }> {
  const { verifier: named, seed, verifierTemperature: temperature, verifierMaxTokens: maxTokens } = settings;
  if (named.startsWith(SERVER)) {
    const address = named.slice(SERVER.length);
    const key = process.env.OPENAI_API_KEY || undefined;
    const verifier = await openServer({ address, key, seed: BigInt(seed), temperature, maxTokens });
    return { verifier, frozen: null };
  }
  if (named === 'bundled') {
    throw new VfError('VF_INVALID_VALUE', 'Expected self, a model or openai:URL for --verifier', {
      hint: '--verifier self is the bundled model when --model is left out',
    });
  }
  const own = named === 'self';
  const frozen = own
    ? null
    : await openFrozen('verifier', { ...settings, model: named, template: null }, store);
  const { folder, tokenizer, template, policy: writer } = frozen?.model ?? policy;
  // Texts that a model was taught for Python programs say nothing to a solver.
  const texts = tool.name === 'python' ? statedTexts(folder.vf) : null;
  const verifier = localVerifier({
    name: own ? 'the policy itself' : named,
    policy: writer,
    form: { tokenizer, template, texts, showAnswer: settings.showAnswer },
    eosIds: folder.eosIds,
    settings: { seed: BigInt(seed), maxTokens, temperature, maxBatch: settings.maxBatch || DEFAULT_BATCH },
    owned: !own,
  });
  return { verifier, frozen };
}
