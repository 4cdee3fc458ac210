/** Every metric of this package; the README lists them. */
import type { Metric } from '@mortise/redis';

const metric = (name: string, unit: string, description: string): Metric => ({
  name: `mortise.autocomplete.${name}`,
  unit,
  description,
});

export const COMPLETIONS = metric('completions', '{completion}', 'Texts that were completed');
export const SUGGESTIONS = metric('suggestions', '{suggestion}', 'Names that completions returned');
export const CHANGES = metric('changes', '{change}', 'Changes of contacts and of entries of books');

export const METRICS: readonly Metric[] = [COMPLETIONS, SUGGESTIONS, CHANGES];
