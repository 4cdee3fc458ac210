/** Every metric of this package; docs/autocomplete/reference/metrics.md lists them. */
import type { Metric } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('autocomplete');

export const COMPLETIONS = /* @__PURE__ */ metric('completions', '{completion}', 'Texts that were completed');
export const SUGGESTIONS = /* @__PURE__ */ metric(
  'suggestions',
  '{suggestion}',
  'Names that completions returned',
);
export const CHANGES = /* @__PURE__ */ metric(
  'changes',
  '{change}',
  'Changes of contacts and of entries of books',
);

export const METRICS: readonly Metric[] = [COMPLETIONS, SUGGESTIONS, CHANGES];
