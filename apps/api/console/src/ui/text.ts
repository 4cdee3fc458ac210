/** How figures and instants read. */
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat('en');
const ABSOLUTE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const BYTE_STEP = 1_024;
const RATE = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const LEAST_RATE = 0.1;
const LARGE = 100_000;
const TEN = 10;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The largest unit that a duration has at least one of, and the unit after it. */
const UNITS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
  [SECOND_MS, 's'],
] as const;

export function countText(count: number): string {
  return Math.abs(count) < LARGE ? WHOLE.format(count) : COMPACT.format(count);
}

/** Such as `0`, `<0.1`, `4.2`, `97`. */
export function rateText(perSecond: number): string {
  if (perSecond > 0 && perSecond < LEAST_RATE) return `<${LEAST_RATE}`;
  return perSecond < TEN ? RATE.format(perSecond) : countText(Math.round(perSecond));
}

export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= BYTE_STEP && unit < BYTE_UNITS.length - 1) [value, unit] = [value / BYTE_STEP, unit + 1];
  return `${value < TEN && unit > 0 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[unit]}`;
}

/** Such as `350 ms`, `4.2 s`, `3 min 20 s`. */
export function durationText(ms: number): string {
  if (ms < 1) return `${ms === 0 ? '0' : ms.toFixed(2)} ms`;
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < TEN * SECOND_MS) return `${(ms / SECOND_MS).toFixed(1)} s`;
  const at = UNITS.findIndex(([size]) => ms >= size);
  const [size, unit] = UNITS[at]!;
  const whole = Math.floor(ms / size);
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((ms % size) / next[0]) : 0;
  return rest > 0 ? `${whole} ${unit} ${rest} ${next![1]}` : `${whole} ${unit}`;
}

export function instantText(at: number): string {
  return ABSOLUTE.format(at);
}

/** Such as `now`, `4 min ago`, `in 3 d`: the nearest number of the largest unit. */
export function agoText(at: number, now: number): string {
  const ms = Math.abs(now - at);
  if (ms < SECOND_MS) return 'now';
  const index = UNITS.findIndex(([size]) => ms >= size);
  const [size, unit] = UNITS[index]!;
  const count = Math.round(ms / size);
  const larger = UNITS[index - 1];
  // 23.7 h are a day, not 24 h.
  const text = larger && count * size >= larger[0] ? `1 ${larger[1]}` : `${count} ${unit}`;
  return at < now ? `${text} ago` : `in ${text}`;
}

export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** JSON as people read it. */
export function jsonText(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2);
}
