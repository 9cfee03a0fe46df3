/** What an evaluation leaves in its run folder: a line of replies.jsonl, and report.json. */

/** One reply with all that judging it again needs. */
export interface ReplyRow {
  v: 1;
  task: string;
  /** The question's place in the task, from 0: its random stream. */
  index: number;
  id: string;
  sample: number;
  /** How it is judged: boxed, answer, choice or knights. */
  judge: string;
  answers: string[];
  category: string;
  options?: string[];
  /** Option i as shown is option order[i] of the file. */
  order?: number[];
  groups?: Record<string, string>;
  /** SHA-256 of the prompt's bytes, hex. */
  promptHash: string;
  /** The prompt's text, with sample 0 only. */
  prompt?: string;
  promptTokens: number;
  /** Worked examples in the prompt. */
  shots: number;
  /** Tokens the reply could have: less than asked for where the model's positions end. */
  maxTokens: number;
  seed: number;
  ids: number[];
  text: string;
  /** length, eos or stop. */
  finish: string;
  /** π(gold | x, z) at T = 1; null without a border in the reply. */
  confidence: number | null;
  /** This reply's share of its batch's time. */
  seconds: number;
  answer: string | null;
  correct: boolean;
}

export interface CategoryScore {
  name: string;
  questions: number;
  accuracy: number;
  stderr: number;
}

/** Another harness's rule on the same replies. */
export interface CompatScore {
  accuracy: number;
  /** Replies on which the rule found nothing. */
  missed: number;
  /** Replies whose answer was drawn at random. */
  guessed: number;
}

export interface OverlapScore {
  file: string;
  words: number;
  /** Questions of the task that share a run of words with the file. */
  overlapping: number;
  /** Of these, questions that are the same but for spacing and numbers. */
  same: number;
  /** Accuracy on the questions without overlap; null when there is none. */
  cleanAccuracy: number | null;
  examples: { id: string; kind: string; share: number; match: string }[];
}

export interface TaskReport {
  task: string;
  /** Name in metrics. */
  metric: string;
  questions: number;
  /** Questions of the data that were left out, by reason. */
  dropped: Record<string, number>;
  /** Replies a question. */
  samples: number;
  /** Mean over questions: micro. */
  accuracy: number;
  /** Standard error, clustered by question. */
  stderr: number;
  /** Mean over categories. */
  macro: number;
  categories: CategoryScore[];
  /** Mean over groups of other kinds (field, subfield, difficulty). */
  groups: Record<string, { macro: number; groups: number; scores: CategoryScore[] }>;
  /** By k up to the samples: unbiased pass@k. */
  passAt: Record<string, number>;
  /** Accuracy of the vote over all samples; null with one. */
  majority: number | null;
  unparsed: number;
  truncated: number;
  /** Mean reply length. */
  tokens: number;
  confidence: number | null;
  /** Replies with a border, whose confidence is known. */
  confidenceShare: number;
  /** Correlation of confidence with correctness over questions; null where one does not vary. */
  confidenceCorrelation: number | null;
  compat: Record<string, CompatScore>;
  overlap: OverlapScore | null;
  seconds: number;
  tokensPerSecond: number;
  hashes: { data: string; prompts: string; extractor: string };
  data: { file: string; revision: string | null };
  prompt: { style: string; shots: number; chat: boolean; example: string };
  sampling: { temperature: number; topP: number; topK: number; maxTokens: number; seed: number };
}

export interface EvaluationReport {
  v: 1;
  run: string;
  model: string;
  /** ISO 8601. */
  created: string;
  vf: string;
  tasks: TaskReport[];
}
