import type { FilesContext } from './context.js';
import type { ListedEntry } from './listed-file.js';
import { entryOf } from './listed-file.js';

/** What a channel lists, in the order of the numbers. One command. */
export async function listedEntries({ redis, channelKeys }: FilesContext): Promise<ListedEntry[]> {
  const found = (await redis.call('hgetall', [channelKeys.listed])) as string[] | Record<string, string>;
  const entries = Array.isArray(found)
    ? Array.from({ length: found.length / 2 }, (_, index) => [found[2 * index]!, found[2 * index + 1]!])
    : Object.entries(found);
  return entries
    .map(([number, entry]) => entryOf(Number(number), entry!))
    .toSorted((a, b) => a.number - b.number);
}
