import { progress, sections, tokenOrder, validity } from './invariants.js';
import { whyNotLinearizable } from './linearize.js';
import type { Model } from './model.js';
import type { History, Section, Violation } from './operation.js';
import { sectionsOf, tenuresOf } from './tenure.js';

export interface CheckOptions {
  /** Clients whose process was killed: what they called need not have returned. */
  readonly killedClients?: ReadonlySet<string>;
}

/**
 * All that is wrong with a history, of each rule and key the first three. 100,000 operations take about a second.
 */
export function check<State>(
  history: History,
  model: Model<State>,
  { killedClients = new Set() }: CheckOptions = {},
): Violation[] {
  const violations: Violation[] = [];
  const add = (found: Iterable<Violation>): void => {
    let count = 0;
    for (const violation of found) {
      violations.push(violation);
      count += 1;
      if (count === 3) return;
    }
  };
  add(progress(history, killedClients));
  const sectionsByKey = new Map<string, Section[]>();
  for (const section of sectionsOf(history)) {
    const known = sectionsByKey.get(section.key);
    if (known) known.push(section);
    else sectionsByKey.set(section.key, [section]);
  }
  for (const [key, tenures] of tenuresOf(history)) {
    add(tokenOrder(key, tenures));
    add(validity(key, tenures, model));
    add(sections(key, sectionsByKey.get(key) ?? [], tenures));
    const reason = whyNotLinearizable(tenures, model, { hasRepeats: history.hasRepeats ?? false });
    if (reason !== undefined) violations.push({ rule: 'linearizability', key, message: reason });
  }
  return violations;
}
