/**
 * A transcript without what an exchange does only every 100 ms: look for what dead workers held and for what is too old, see
 * to it that small hashes are no lists, and seal records.
 */
export function withoutLooks(lines: readonly string[]): string[] {
  return lines
    .join('\n')
    .replaceAll(/\n {2}zrangebyscore active/g, '')
    .replaceAll(/\n {2}lindex succeeded(\n {2}hget attempts(\n {2}hstrlen tasks(\n {2}hget tasks)?)?)?/g, '')
    .replaceAll(
      /\n {2}lrange succeeded(\n {2}hmget attempts(\n {2}hstrlen tasks)*(\n {2}hmget tasks(\n {2}hset tasks\n {2}hdel attempts)?)?)?/g,
      '',
    )
    .replaceAll(/\n {2}hset (attempts|tasks)\n {2}hdel \1/g, '')
    .split('\n');
}
