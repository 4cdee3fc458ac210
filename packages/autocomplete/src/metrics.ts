/** All metrics of the package, for docs/autocomplete/reference/metrics.md. */
import type { Metric } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('autocomplete');

/** Each page of a book counts. */
export const COMPLETIONS = /* @__PURE__ */ metric('completions', '{completion}', 'Texts that were completed');
export const SUGGESTIONS = /* @__PURE__ */ metric(
  'suggestions',
  '{suggestion}',
  'Names that completions returned',
);
/** A contact is touched or removed; an entry is added, removed or boosted. */
export const CHANGES = /* @__PURE__ */ metric(
  'changes',
  '{change}',
  'Changes of contacts and of entries of books',
);

export const METRICS: readonly Metric[] = [COMPLETIONS, SUGGESTIONS, CHANGES];
