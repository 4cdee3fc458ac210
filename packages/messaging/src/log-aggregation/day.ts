const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Whether a text is a day of the calendar: `2026-02-29` is none. */
export function isDay(text: string): boolean {
  if (typeof text !== 'string' || !DAY.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}
