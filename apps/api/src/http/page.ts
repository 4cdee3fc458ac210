/** The query and the answer of routes that list. */
import { z } from 'zod';

import { digits } from './digits.js';
import { DEFAULT_PAGE, MAX_CURSOR_LENGTH, MAX_PAGE } from './page-limits.js';

const cursorUpTo = (length: number) =>
  z.string().min(1).max(length).optional().meta({ description: 'the `nextCursor` of the page before' });

export const cursor = cursorUpTo(MAX_CURSOR_LENGTH);
/** It contains a name or an id of up to 1,024 bytes, encoded twice. */
export const longCursor = cursorUpTo(8_192);

export const limit = digits(1, MAX_PAGE)
  .default(DEFAULT_PAGE)
  // zod leaves the default of what it preprocesses out of the JSON schema.
  .meta({ description: `default ${DEFAULT_PAGE}` });

export const nextCursor = z.string().nullable().meta({ description: 'null: this is the last page' });
