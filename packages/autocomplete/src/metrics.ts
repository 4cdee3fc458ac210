/** Every metric of this package; the README lists them. */
import type { Metric } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = metricsOf('autocomplete');

export const COMPLETIONS = metric('completions', '{completion}', 'Texts that were completed');
export const SUGGESTIONS = metric('suggestions', '{suggestion}', 'Names that completions returned');
export const CHANGES = metric('changes', '{change}', 'Changes of contacts and of entries of books');

export const METRICS: readonly Metric[] = [COMPLETIONS, SUGGESTIONS, CHANGES];
