const LOOK =
  /\n {2}zremrangebyscore idle\n {2}zadd idle\n {2}pexpire idle\n {2}zrange active\n {2}get timekeeper(\n {2}(set|del) timekeeper)?/g;

/**
 * A transcript without what happens once a second: the call of the maintainer, and the look of an idle worker at when something
 * falls due.
 */
export function withoutMaintenance(lines: readonly string[]): string[] {
  return lines
    .join('\n')
    .replaceAll(/(^|\n)maintainer\.maintain(\n {2}.*)*/g, '')
    .replaceAll(LOOK, '\n  zadd idle')
    .split('\n')
    .filter((line) => line !== '');
}
