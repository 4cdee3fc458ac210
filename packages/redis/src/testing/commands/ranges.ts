/** ZRANGE and the commands that it replaces. */
import { general, toNumber } from '../lua/number-format.js';
import type { Reply } from '../reply.js';
import { ReplyError, syntaxError } from '../reply.js';
import type { SortedSet } from '../store/sorted-set.js';
import type { Call, Commands } from './command.js';
import { bounds, integer, read } from './command.js';

type Places = readonly [from: number, to: number];

function scoreBound(text: string): { value: number; isOpen: boolean } {
  const isOpen = text.startsWith('(');
  const value = toNumber(isOpen ? text.slice(1) : text);
  if (value === undefined || Number.isNaN(value)) throw new ReplyError('ERR min or max is not a float');
  return { value, isOpen };
}

/** The places of the scores from `min` to `max`. */
export function scoreBounds(set: SortedSet | undefined, min: string, max: string): Places {
  const [least, most] = [scoreBound(min), scoreBound(max)];
  return set ? [set.countBefore(least, false), set.countBefore(most, true)] : [0, 0];
}

function lexPlace(set: SortedSet | undefined, text: string, isLast: boolean): number {
  if (text === '-') return 0;
  if (text === '+') return set?.size ?? 0;
  if (!/^[[(]/.test(text)) throw new ReplyError('ERR min or max not valid string range item');
  return set?.countBeforeMember({ value: text.slice(1), isOpen: text.startsWith('(') }, isLast) ?? 0;
}

/** The places of the members from `min` to `max`. */
export function lexBounds(set: SortedSet | undefined, min: string, max: string): Places {
  return [lexPlace(set, min, false), lexPlace(set, max, true)];
}

interface Options {
  by: 'lex' | 'rank' | 'score';
  isReversed: boolean;
  hasScores: boolean;
  limit: readonly [offset: number, count: number] | undefined;
}

function optionsOf(given: readonly string[], defaults: Options): Options {
  const options = { ...defaults };
  for (let at = 0; at < given.length; at += 1) {
    switch (given[at]!.toUpperCase()) {
      case 'BYSCORE':
        options.by = 'score';
        break;
      case 'BYLEX':
        options.by = 'lex';
        break;
      case 'REV':
        options.isReversed = true;
        break;
      case 'WITHSCORES':
        options.hasScores = true;
        break;
      case 'LIMIT':
        options.limit = [integer(given[at + 1]), integer(given[at + 2])];
        at += 2;
        break;
      default:
        throw syntaxError();
    }
  }
  if (options.limit && options.by === 'rank')
    throw new ReplyError(
      'ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX',
    );
  if (options.hasScores && options.by === 'lex')
    throw new ReplyError('ERR syntax error, WITHSCORES not supported in combination with BYLEX');
  return options;
}

function placesOf(
  set: SortedSet | undefined,
  first: string,
  last: string,
  { by, isReversed }: Options,
): Places {
  const size = set?.size ?? 0;
  if (by === 'rank') {
    const [from, to] = bounds(integer(first), integer(last), size);
    return isReversed ? [size - to, size - from] : [from, to];
  }
  const [min, max] = isReversed ? [last, first] : [first, last];
  return by === 'score' ? scoreBounds(set, min, max) : lexBounds(set, min, max);
}

const range =
  (defaults: Partial<Options> = {}) =>
  ({ store, args: [key, first, last, ...given] }: Call): Reply => {
    const start: Options = { by: 'rank', isReversed: false, hasScores: false, limit: undefined };
    const options = optionsOf(given, { ...start, ...defaults });
    // Redis reads the range before the key.
    placesOf(undefined, first!, last!, options);
    const set = store.read(key!, 'zset');
    const [from, to] = placesOf(set, first!, last!, options);
    let entries = from < to ? (set?.slice(from, to) ?? []) : [];
    if (options.isReversed) entries = entries.toReversed();
    if (options.limit) {
      const [offset, count] = options.limit;
      if (offset < 0) entries = [];
      else entries = entries.slice(offset, count < 0 ? undefined : offset + count);
    }
    return entries.flatMap(({ member, score }) =>
      options.hasScores ? [member, general(score, 17)] : [member],
    );
  };

export const RANGE_COMMANDS: Commands = {
  zrange: read(3, Infinity, range()),
  zrangebylex: read(3, 6, range({ by: 'lex' })),
  zrangebyscore: read(3, 7, range({ by: 'score' })),
  zrevrange: read(3, 4, range({ isReversed: true })),
  zrevrangebylex: read(3, 6, range({ by: 'lex', isReversed: true })),
  zrevrangebyscore: read(3, 7, range({ by: 'score', isReversed: true })),
};
