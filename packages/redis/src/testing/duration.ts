import { ArgumentTypeError } from '../argument-error.js';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The ms of a number, or of a text such as `250ms`, `30s`, `5m`, `2h`, `1d` or `1h 30m`. */
export function durationMs(duration: number | string): number {
  if (typeof duration === 'number' && duration >= 0 && duration < Infinity) return duration;
  const parts = typeof duration === 'string' ? duration.trim().split(/\s+/) : [];
  let ms = 0;
  for (const part of parts) {
    const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(part) ?? [];
    if (amount === undefined) throw new ArgumentTypeError(refusal(duration));
    ms += Number(amount) * UNITS[unit!]!;
  }
  if (parts.length === 0) throw new ArgumentTypeError(refusal(duration));
  return ms;
}

function refusal(duration: unknown): string {
  return `a duration is ms, or a text such as 30s, 5m or 1h 30m, got ${JSON.stringify(duration) ?? 'undefined'}`;
}
