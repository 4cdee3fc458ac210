import type { PayloadIssue } from '../errors.js';
import type { StandardIssue } from '../standard-schema.js';

/** Maximum of issues kept for a payload; a list of thousands may have one for each entry. */
const MAX_ISSUES = 20;

export function toIssues(issues: readonly StandardIssue[]): PayloadIssue[] {
  return issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const steps = path.map((step) => (typeof step === 'object' ? step.key : step));
    return { message, path: steps.map((step) => (typeof step === 'number' ? step : String(step))) };
  });
}

/** For messages: `does not fit its schema: price: expected number, received string (and 2 more)`. */
export function describeIssues([first, ...others]: readonly PayloadIssue[]): string {
  if (!first) return 'does not fit its schema';
  const where = first.path.length === 0 ? '' : `${first.path.join('.')}: `;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `does not fit its schema: ${where}${first.message}${more}`;
}
