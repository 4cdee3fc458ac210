/** Places where a job waits, as layer.place.part.lua reads them. */

/** After the jobs of its priority. Without a priority: at the end of the queue, or the front with `lifo`. */
export function placeOf(priority: number, lifo = false): string {
  if (priority > 0) return `P${priority}`;
  return lifo ? 'L' : 'F';
}

/** Before the jobs of its priority. */
export function frontOf(priority: number): string {
  return priority > 0 ? `P${priority}L` : 'L';
}

/** After a delay, ms; then after the jobs of its priority. */
export function delayOf(delay: number, priority: number): string {
  return `D${Math.ceil(delay)}${priority > 0 ? `,${priority}` : ''}`;
}
