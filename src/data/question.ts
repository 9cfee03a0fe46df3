/** Question: one row of a data set, as every command sees it. */

export interface Question {
  /** Stable within its file: the row's own id, else its 1-based row number. */
  id: string;
  question: string;
  /** Accepted reference answers y*, at least one for training; empty for unlabeled questions. */
  answers: string[];
  category: string;
  /** Multiple-choice options, when the data has them. */
  options?: string[];
  /** Where it came from, for messages. */
  file: string;
  /** 1-based line (JSONL, CSV) or row (parquet). */
  line: number;
}
