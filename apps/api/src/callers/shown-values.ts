/** Values of callers within the answers and events of this API: what a session sees of them is decided in one place, for every route. */

/** The members that have them. All around them is of the API, also a member `token`. */
const VALUES: ReadonlySet<string> = new Set(['payload', 'result', 'progress', 'headers', 'body', 'value']);
/** Lines of logs, in which programs often write JSON. */
const LINES = 'logs';

type Show = (value: unknown) => unknown;

/** A copy of an answer or an event in which `show` has seen each value of a caller. */
export function showValues(answer: unknown, show: Show): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  if (Array.isArray(answer)) return answer.map((item) => showValues(item, show));
  return Object.fromEntries(
    Object.entries(answer).map(([name, member]) => {
      if (VALUES.has(name)) return [name, show(member)];
      return [name, name === LINES ? shownLines(member, show) : showValues(member, show)];
    }),
  );
}

function shownLines(lines: unknown, show: Show): unknown {
  if (!Array.isArray(lines)) return lines;
  return lines.map((line: { readonly text?: unknown }) =>
    typeof line.text === 'string' ? { ...line, text: shownText(line.text, show) } : line,
  );
}

/** A text that is no JSON stays, and so does JSON of which all is shown. */
function shownText(text: string, show: Show): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    const value = JSON.parse(text) as unknown;
    const shown = JSON.stringify(show(value));
    return shown === JSON.stringify(value) ? text : shown;
  } catch {
    return text;
  }
}
