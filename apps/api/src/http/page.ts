/** The query and the answer of routes that list. */
import { z } from 'zod';

import { MAX_CURSOR_LENGTH } from '../market/cursor.js';
import { DEFAULT_PAGE, MAX_PAGE } from '../market/options.js';
import { digits } from './digits.js';

export const cursor = z
  .string()
  .min(1)
  .max(MAX_CURSOR_LENGTH)
  .optional()
  .meta({ description: 'nextCursor of the page before' });

export const limit = digits(1, MAX_PAGE)
  .default(DEFAULT_PAGE)
  // zod leaves the default of what it preprocesses out of the JSON schema.
  .meta({ description: `default ${DEFAULT_PAGE}` });

export const nextCursor = z.string().nullable().meta({ description: 'null: this is the last page' });
