/** One sorted set in the order of bytes. The upper bound ends in a byte that no UTF-8 text has. */
import type { BookKind } from '../kind.js';
import { BOOK_NAME, LIMIT } from '../kind.js';
import { inPipelines, sharedConnection } from './connection.js';

const NAMES = `names:${BOOK_NAME}`;
const BEHIND_ALL = Buffer.from([0xff]);

export const BYLEX: BookKind = {
  name: 'ZRANGE BYLEX',
  version: '',
  verbs: ['complete'],
  order: 'alphabet',
  connect: (url) => {
    const conn = sharedConnection(url);
    const complete = (text: string): Promise<string[]> =>
      conn.zrange(
        NAMES,
        `[${text}`,
        Buffer.concat([Buffer.from(`(${text}`), BEHIND_ALL]),
        'BYLEX',
        'LIMIT',
        0,
        LIMIT,
      );
    return {
      load: (names) =>
        inPipelines(
          conn,
          names.map(({ name }) => ['ZADD', NAMES, 0, name]),
        ),
      callers: (count) => Array.from({ length: count }, () => ({ complete })),
    };
  },
};
