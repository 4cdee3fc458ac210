import type { TextRange } from '@mortise/autocomplete';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);
}

/** HTML with the matched ranges in `<mark>`. Ranges are sorted and disjoint, and never cut a character. */
export function highlight(display: string, matches: readonly TextRange[]): string {
  let html = '';
  let end = 0;
  for (const match of matches) {
    html += `${escape(display.slice(end, match.start))}<mark>${escape(display.slice(match.start, match.end))}</mark>`;
    end = match.end;
  }
  return html + escape(display.slice(end));
}
