/** `vf help formats`: the files that vf reads and writes. */

export const FORMATS = `Questions (--data, --eval-data): JSONL, CSV or parquet, a row a question.

  {"question": "Tom has 3 boxes of 4 pens. How many pens?", "answer": "12"}

  question   text, required
  answer     the reference; a string, a number, or a list of accepted strings
             required by vf train; vf ttrl ignores it but for its metrics
  id         any text; the row number when left out
  category   any text, for accuracies by category
  options    list of choices

Other names: --map answer=solution --map question=problem. A row that can't be used is an error with file and
line; \`vf data filter\` drops such rows by named rules and counts them.

Settings (--config): YAML with the flags' own names as keys.

  preset: verifree-1.7b
  model: models/qwen3-1.7b-base
  data: questions.jsonl
  lr: 1e-6

  defaults < preset < file < VF_LR and the like < flags

Models (--model): a run (its latest checkpoint), a checkpoint, or a Hugging Face folder: config.json,
tokenizer.json, *.safetensors of the Qwen3, Qwen2, Qwen2.5, Llama 2 or Llama 3 family.

Runs: config.yaml (settings with origins), manifest.json (versions, hashes), metrics.jsonl (a line a step or
evaluation), samples.jsonl (traces), events.jsonl (all events), events.out.tfevents.vf (TensorBoard),
report.html, checkpoints/step-N (Hugging Face folders) and checkpoints/latest. vf ttrl adds votes.jsonl (a line
a question) and verdicts.jsonl (a line a program); vf eval writes replies.jsonl (a line a reply, judged) and
report.json (scores and hashes of every task).

Events (--json): one JSON object a line, {v, event, run, time, step?, …}; event is start, step, sample, eval,
checkpoint, progress, warning or end. The last is end, with exitCode and summary or error.
`;
