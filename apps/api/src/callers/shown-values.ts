/** Values of callers within the answers and events of this API: what a session sees of them is decided in one place, for every route. */

/** The members that have them. All around them is of the API, also a member `token`. */
const VALUES: ReadonlySet<string> = new Set(['payload', 'result', 'progress', 'headers', 'body', 'value']);
/** Lines of logs, in which programs often write JSON. */
const LINES = 'logs';

interface Redacts {
  redact: (value: unknown) => unknown;
  redactLine: (line: string) => string;
}

/** A copy of an answer or an event without the hidden members of the values of callers. */
export function showValues(answer: unknown, redactor: Redacts): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  if (Array.isArray(answer)) return answer.map((item) => showValues(item, redactor));
  return Object.fromEntries(
    Object.entries(answer).map(([name, member]) => {
      if (VALUES.has(name)) return [name, redactor.redact(member)];
      return [name, name === LINES ? shownLines(member, redactor) : showValues(member, redactor)];
    }),
  );
}

function shownLines(lines: unknown, redactor: Redacts): unknown {
  if (!Array.isArray(lines)) return lines;
  return lines.map((line: { readonly text?: unknown }) =>
    typeof line.text === 'string' ? { ...line, text: redactor.redactLine(line.text) } : line,
  );
}
