/** Everything that completion counts; the README lists them. */
import type { Metric } from '@mortise/redis';

const metric = (name: string, unit: string, description: string): Metric => ({
  name: `mortise.autocomplete.${name}`,
  unit,
  description,
});

export const COMPLETIONS = metric('completions', '{completion}', 'Texts that were completed');
export const SUGGESTIONS = metric('suggestions', '{suggestion}', 'Names that they were completed with');
export const CHANGES = metric('changes', '{change}', 'Contacts and entries of books that were changed');
/** With `mortise.autocomplete.source`: `recent` or `book`. */
export const FAILURES = metric('failures', '{source}', 'Sources that gave a mention completer no answer');

export const METRICS: readonly Metric[] = [COMPLETIONS, SUGGESTIONS, CHANGES, FAILURES];
