/** Who checks the traces of `vf ttrl`, and with what: verifier, tool and sandbox as the settings name them. */

import { join } from 'node:path';
import type { Resolved } from '../config/resolve.js';
import { VfError } from '../errors.js';
import { RUN_FILES } from '../run/folder.js';
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
import { type OpenModel, openModel } from './open-model.js';
import { DEFAULT_BATCH } from './training-parts.js';

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

/** The verifier of `--verifier`; null for tools that need none. */
export async function openVerifier(
  settings: Settings,
  policy: OpenModel,
  tool: Tool,
): Promise<Verifier | null> {
  if (!tool.needsVerifier) return null;
  const { verifier: named, seed, verifierTemperature: temperature, verifierMaxTokens: maxTokens } = settings;
  if (named.startsWith(SERVER)) {
    const address = named.slice(SERVER.length);
    const key = process.env.OPENAI_API_KEY || undefined;
    return openServer({ address, key, seed: BigInt(seed), temperature, maxTokens });
  }
  if (named === 'bundled') {
    throw new VfError('VF_INVALID_VALUE', 'Expected self, a model or openai:URL for --verifier', {
      hint: '--verifier self is the bundled model when --model is left out',
    });
  }
  const own = named === 'self';
  const model = own
    ? policy
    : await openModel({ ...settings, model: named, template: null }, { trainable: false });
  // Texts that a model was taught for Python programs say nothing to a solver.
  const texts = tool.name === 'python' ? statedTexts(model.folder.vf) : null;
  return localVerifier({
    name: own ? 'the policy itself' : named,
    policy: model.policy,
    form: {
      tokenizer: model.tokenizer,
      template: model.template,
      texts,
      showAnswer: settings.showAnswer,
    },
    eosIds: model.folder.eosIds,
    settings: { seed: BigInt(seed), maxTokens, temperature, maxBatch: settings.maxBatch || DEFAULT_BATCH },
    owned: !own,
  });
}

/** The checker of an open tool, and what to say of its verifier. */
export async function openChecker(
  settings: Settings,
  policy: OpenModel,
  open: OpenTool,
): Promise<{ checker: TraceChecker; verifier: Verifier | null; line: string }> {
  const verifier = await openVerifier(settings, policy, open.tool);
  const line =
    verifier === null
      ? open.line
      : `${verifier.name}, T ${settings.verifierTemperature}, ≤ ${settings.verifierMaxTokens} tokens; ${open.line}`;
  return { checker: traceChecker(open.tool, verifier), verifier, line };
}
