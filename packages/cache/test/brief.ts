/** A transcript for snapshots: keys without the entity, the commands inside a script on one line below it. */
export function brief(lines: readonly string[]): string {
  return lines
    .map((line) => line.replaceAll(/cache:\{\w+\}:/g, '').replace(/^evalsha(_ro)? /, ''))
    .join('\n')
    .replaceAll(/(?<=\n {2}.*)\n {2}/g, ' · ');
}
