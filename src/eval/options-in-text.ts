/** Options that stand in the question itself, a line each: `(A) 12/11/1937`. */

/** Their texts in the order A, B, …; empty where the lines do not form such a list. */
export function optionTextsIn(question: string): string[] {
  const texts: string[] = [];
  for (const line of question.split('\n')) {
    const match = /^\s*\(([A-Z])\)\s*(\S.*)$/.exec(line);
    if (match?.[1] === String.fromCharCode(65 + texts.length)) texts.push(match[2]!.trim());
  }
  return texts.length > 1 ? texts : [];
}
