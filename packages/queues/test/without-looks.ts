/**
 * A transcript without what an exchange does only every 100 ms: look for what dead workers held and for what is too old, and
 * see to it that small hashes are no lists.
 */
export function withoutLooks(lines: readonly string[]): string[] {
  return lines
    .join('\n')
    .replaceAll(/\n {2}zrangebyscore active/g, '')
    .replaceAll(/\n {2}lindex succeeded(\n {2}hget attempts)?/g, '')
    .replaceAll(/\n {2}hset (attempts|tasks)\n {2}hdel \1/g, '')
    .split('\n');
}
